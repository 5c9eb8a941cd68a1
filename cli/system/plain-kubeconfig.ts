import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { parse } from "yaml";
import type { Credentials } from "#kube/http-transport.ts";
import { isObject } from "#kube/json.ts";
import type { ClusterAccess } from "#kube/kubeconfig.ts";

/** What may stand in a cluster and a user here; everything else is the library's. */
const clusterFields = new Set([
  "server",
  "certificate-authority",
  "certificate-authority-data",
  "insecure-skip-tls-verify",
  "tls-server-name",
]);
const userFields = new Set([
  "token",
  "tokenFile",
  "client-certificate",
  "client-certificate-data",
  "client-key",
  "client-key-data",
]);

type Fields = Readonly<Record<string, unknown>>;

/**
 * Reads a kubeconfig whose user has a token or a certificate. The library that reads all of them (plug-ins, proxies, several files)
 * takes a third of a second to load, which is most of the time of a short command.
 *
 * @returns undefined for everything that the library is needed for, mistakes included: it has the words for them
 */
export function readPlainKubeconfig(file: string, context: string | undefined): ClusterAccess | undefined {
  const config = read(file);
  const current = named(config?.contexts, context ?? config?.["current-context"], "context");
  const cluster = named(config?.clusters, current?.cluster, "cluster");
  const user = named(config?.users, current?.user, "user");
  if (current === undefined || cluster === undefined || user === undefined) return undefined;
  if (!isPlain(cluster, clusterFields) || !isPlain(user, userFields)) return undefined;
  const { server } = cluster;
  if (typeof server !== "string") return undefined;
  const path = (name: unknown): string | undefined =>
    typeof name === "string" && name !== "" ? resolve(dirname(file), name) : undefined;
  return {
    server,
    namespace: text(current.namespace) ?? "default",
    async credentials(): Promise<Credentials> {
      const tokenFile = path(user.tokenFile);
      const token = tokenFile === undefined ? text(user.token) : (await readFile(tokenFile, "utf8")).trim();
      const pem = async (key: string, from: Fields) => {
        const data = text(from[`${key}-data`]);
        if (data !== undefined) return Buffer.from(data, "base64").toString("utf8");
        const of = path(from[key]);
        return of === undefined ? undefined : readFile(of, "utf8");
      };
      return {
        headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
        tls: {
          ca: await pem("certificate-authority", cluster),
          cert: await pem("client-certificate", user),
          key: await pem("client-key", user),
          servername: text(cluster["tls-server-name"]),
          rejectUnauthorized: cluster["insecure-skip-tls-verify"] === true ? false : undefined,
        },
      };
    },
  };
}

/** Names of the contexts of a kubeconfig; none of one that cannot be read. */
export function contextsOf(file: string): string[] {
  const contexts = read(file)?.contexts;
  if (!Array.isArray(contexts)) return [];
  return contexts.flatMap((one: unknown) => (isObject(one) && typeof one.name === "string" ? [one.name] : []));
}

function read(file: string): Fields | undefined {
  try {
    const value: unknown = parse(readFileSync(file, "utf8"), { logLevel: "error" });
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** The content of the entry of a name in a list of `{name, [member]: {...}}`. */
function named(list: unknown, name: unknown, member: string): Fields | undefined {
  if (!Array.isArray(list) || typeof name !== "string") return undefined;
  const entry: unknown = list.find((one: unknown) => isObject(one) && one.name === name);
  const content = isObject(entry) ? entry[member] : undefined;
  return isObject(content) ? content : undefined;
}

const isPlain = (content: Fields, fields: ReadonlySet<string>) => Object.keys(content).every((key) => fields.has(key));

const text = (value: unknown): string | undefined => (typeof value === "string" && value !== "" ? value : undefined);
