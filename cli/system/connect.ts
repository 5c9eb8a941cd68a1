import { existsSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, join } from "node:path";
import { tokenDirectory } from "#api/pod-layout.ts";
import { createClient } from "#kube/client.ts";
import { httpTransport } from "#kube/http-transport.ts";
import type { ClusterAccess, KubeconfigChoice } from "#kube/kubeconfig.ts";
import { apiAccess } from "#kube/process/api-access.ts";
import { silentLogger } from "#kube/silent-logger.ts";
import { systemClock } from "#kube/system-clock.ts";
import { systemRandom } from "#kube/system-random.ts";
import type { Connection } from "../environment.ts";
import { CliError } from "../errors.ts";
import { exitCodes } from "../exit-codes.ts";
import { contextsOf, readPlainKubeconfig } from "./plain-kubeconfig.ts";

/** Where clusters are looked for. */
export interface Surroundings {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Has `.kube/config`. */
  readonly home: string;
  /** Where a Pod has the token of its service account. */
  readonly tokenDirectory: string;
}

const here = (): Surroundings => ({ env: process.env, home: homedir(), tokenDirectory });

/** Connects as kubectl would: `--kubeconfig`, `$KUBECONFIG`, `~/.kube/config`, or the service account of a Pod. */
export async function systemConnect(choice: KubeconfigChoice, around = here()): Promise<Connection> {
  const access = await accessOf(choice, around);
  const deps = { clock: systemClock, random: systemRandom, logger: silentLogger };
  const transport = httpTransport({ ...access, ...deps, userAgent: "krt" });
  return {
    client: createClient(transport),
    server: access.server,
    namespace: access.namespace,
    close: () => transport.close(),
  };
}

async function accessOf(choice: KubeconfigChoice, around: Surroundings): Promise<ClusterAccess> {
  const [file, ...others] = filesOf(choice.file, around);
  if (file === undefined) return accessInPod(choice, around);
  const plain = others.length > 0 ? undefined : readPlainKubeconfig(file, choice.context);
  if (plain !== undefined) return plain;
  const { loadClusterAccess } = await import("#kube/kubeconfig.ts");
  try {
    return loadClusterAccess(choice);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    // Below its first line the library draws the place in the file.
    const text = error instanceof Error && error.name === "YAMLException" ? why.split("\n", 1)[0] : undefined;
    if (text !== undefined) {
      throw new CliError(`the kubeconfig ${[file, ...others].join(", ")} is no YAML: ${text}`, {
        advice: "Correct it, or choose another one with --kubeconfig.",
        cause: error,
      });
    }
    throw new CliError(why, {
      advice: "`kubectl config get-contexts` lists what there is.",
      exitCode: exitCodes.usage,
      cause: error,
    });
  }
}

/** What Kubernetes gives to every Pod: the address of its API server, a token, and the namespace of the Pod. */
function accessInPod({ context }: KubeconfigChoice, { env, tokenDirectory }: Surroundings): ClusterAccess {
  if (context !== undefined) {
    throw new CliError(
      `there is no context ${context}: in a Pod without a kubeconfig there is its service account only`,
      {
        advice: "Leave out --context, or pass --kubeconfig.",
        exitCode: exitCodes.usage,
      },
    );
  }
  const { KUBERNETES_SERVICE_HOST, KUBERNETES_SERVICE_PORT = "443" } = env;
  const access = apiAccess({ KUBERNETES_SERVICE_HOST, KUBERNETES_SERVICE_PORT }, tokenDirectory);
  return { ...access, namespace: readFileSync(join(tokenDirectory, "namespace"), "utf8").trim() };
}

/** Names of the contexts of all kubeconfig files that count. */
export function contextNames(file: string | undefined): readonly string[] {
  return [...new Set(filesOf(file, here()).flatMap(contextsOf))];
}

/**
 * The kubeconfig files that count; none in a Pod with a service account.
 *
 * @throws CliError when there is no cluster: the library would fall back to localhost:8080 in silence, which is nobody's
 */
function filesOf(file: string | undefined, { env, home, tokenDirectory }: Surroundings): readonly string[] {
  const named = file === undefined ? (env.KUBECONFIG ?? "").split(delimiter).filter(Boolean) : [file];
  const missing = named.find((one) => !existsSync(one));
  if (missing !== undefined) {
    throw new CliError(`there is no kubeconfig ${missing}`, {
      advice: `Check ${file === undefined ? "KUBECONFIG" : "--kubeconfig"}; \`krt local status\` shows that of a local cluster.`,
    });
  }
  if (named.length > 0) return named;
  const usual = join(home, ".kube/config");
  if (existsSync(usual)) return [usual];
  if (env.KUBERNETES_SERVICE_HOST && existsSync(`${tokenDirectory}/token`)) return [];
  throw new CliError("no cluster is configured", {
    advice: "Pass --kubeconfig or set KUBECONFIG; `krt local up` starts a cluster on this machine.",
  });
}
