import { readFile } from "node:fs/promises";
import type { RequestOptions } from "node:https";
import { KubeConfig } from "@kubernetes/client-node";
import type { Credentials, HttpTransportOptions } from "#kube/http-transport.ts";

/** Where to find a cluster: what `httpTransport` needs beyond clock, randomness and logger. */
export interface ClusterAccess extends Pick<HttpTransportOptions, "server" | "credentials"> {
  /** Namespace of the context, `default` if it names none. */
  readonly namespace: string;
}

/** How to choose among the entries of kubeconfig files. */
export interface KubeconfigChoice {
  /** File to read; default `$KUBECONFIG`, then `~/.kube/config`. */
  readonly file?: string | undefined;
  /** Context to use; default the current one. */
  readonly context?: string | undefined;
}

/**
 * Reads a kubeconfig. Files named in it (tokens, certificates, keys) are read again
 * each time credentials are asked for, exec plug-ins run again when their credentials have expired or were refused.
 */
export function loadClusterAccess(choice: KubeconfigChoice = {}): ClusterAccess {
  const config = new KubeConfig();
  try {
    if (choice.file === undefined) config.loadFromDefault();
    else config.loadFromFile(choice.file);
  } catch (cause) {
    // What is no YAML has words of its own, and a place.
    if (cause instanceof Error && cause.name === "YAMLException") throw cause;
    throw unreadable(choice.file, cause);
  }
  if (choice.context !== undefined) {
    const names = config.getContexts().map(({ name }) => name);
    if (!names.includes(choice.context)) {
      throw new Error(`the kubeconfig has no context ${choice.context}; it has ${names.join(", ") || "none"}`);
    }
    config.setCurrentContext(choice.context);
  }
  return clusterAccess(config);
}

/** The library's words, which do not say what they are about; where it trips over a file that is none, JavaScript's say less. */
function unreadable(file: string | undefined, cause: unknown): Error {
  const isOther = cause instanceof TypeError || !(cause instanceof Error);
  const why = isOther ? "it needs lists of clusters, users and contexts, each with a name" : cause.message;
  return new Error(`the kubeconfig${file === undefined ? "" : ` ${file}`} cannot be read: ${why}`, { cause });
}

/** The same for a configuration that is loaded already. */
export function clusterAccess(config: KubeConfig): ClusterAccess {
  const cluster = config.getCurrentCluster();
  if (cluster === null) {
    throw new Error(
      `the context ${config.getCurrentContext() || "(none)"} of the kubeconfig names no cluster; ` +
        "set one with kubectl config use-context, or pass --context",
    );
  }
  if (cluster.proxyUrl !== undefined) {
    throw new Error(`cluster ${cluster.name} has proxy-url ${cluster.proxyUrl}: proxies are not supported; remove it`);
  }
  let source = copyOf(config);
  return {
    server: cluster.server,
    namespace: config.getContextObject(config.getCurrentContext())?.namespace ?? "default",
    async credentials(renew) {
      // The authenticators keep what plug-ins gave them; only new ones ask again before it expires.
      if (renew) source = copyOf(config);
      return readCredentials(source);
    },
  };
}

/**
 * A copy to read credentials from. The library refuses plain HTTP although nothing is sent here; the local cluster
 * is served by it on loopback.
 */
function copyOf(config: KubeConfig): KubeConfig {
  const copy = new KubeConfig();
  copy.loadFromOptions({
    clusters: config.getClusters().map((one) => ({ ...one, server: one.server.replace(/^http:/, "https:") })),
    contexts: config.getContexts(),
    users: config.getUsers(),
    currentContext: config.getCurrentContext(),
  });
  return copy;
}

async function readCredentials(config: KubeConfig): Promise<Credentials> {
  const options: RequestOptions = {};
  await config.applyToHTTPSOptions(options);
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(options.headers ?? {})) {
    if (value !== undefined) headers[name.toLowerCase()] = String(value).trim();
  }
  if (options.auth) headers.authorization = `Basic ${Buffer.from(options.auth).toString("base64")}`;
  const tokenFile: unknown = config.getCurrentUser()?.authProvider?.config?.tokenFile;
  // The library reads a token file once a minute; a token may be revoked sooner.
  if (typeof tokenFile === "string") headers.authorization = `Bearer ${(await readFile(tokenFile, "utf8")).trim()}`;
  return {
    headers,
    tls: {
      ca: pem(options.ca),
      cert: pem(options.cert),
      key: pem(options.key),
      servername: options.servername,
      rejectUnauthorized: options.rejectUnauthorized,
    },
  };
}

function pem(value: RequestOptions["ca"] | RequestOptions["key"]): string | undefined {
  return value === undefined ? undefined : String(value);
}
