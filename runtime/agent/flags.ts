import { parseArgs } from "node:util";
import { parseDuration } from "#api/duration.ts";
import type { Amounts } from "#api/quantity.ts";
import { defaultDrainMs } from "#api/runtimes.ts";
import { portFlag, UsageError } from "#kube/process/flags.ts";
import { type ArtifactAddress, artifactAddress } from "./artifact-address.ts";
import type { AgentIdentity } from "./deps.ts";

type Environment = Readonly<Record<string, string | undefined>>;

export interface AgentFlags {
  readonly self: AgentIdentity;
  /** Unix socket of the executor. */
  readonly socket: string;
  readonly workspaceRoot: string;
  readonly drainMs: number;
  readonly clusterUid: string;
  /** Absent when the Runtime has no artifactStore. */
  readonly artifactRoot: string | undefined;
  readonly artifactClaim: string | undefined;
  /** Where stored artifacts are served; absent when they are not. */
  readonly artifactAddress: ArtifactAddress | undefined;
  /** Port of probes and of the drain hook; absent under a local cluster, which hears of readiness by a message. */
  readonly port: number | undefined;
}

/** The command line of the agent, as the pool writes it into Pod templates, and what the downward API tells of the Pod. */
export function parseFlags(args: readonly string[], env: Environment): AgentFlags {
  const string = { type: "string" } as const;
  const { values } = parseArgs({
    args: [...args],
    options: {
      runtime: string,
      socket: string,
      "workspace-root": string,
      capacity: string,
      "drain-timeout": string,
      "cluster-uid": string,
      "artifact-root": string,
      "artifact-claim": string,
      "artifact-port": string,
      "artifact-socket": string,
      port: string,
    },
  });
  const flag = (name: keyof typeof values) => needed(`--${name}`, values[name]);
  return {
    socket: flag("socket"),
    workspaceRoot: flag("workspace-root"),
    drainMs: parseDuration(values["drain-timeout"]) ?? defaultDrainMs,
    clusterUid: flag("cluster-uid"),
    artifactRoot: values["artifact-root"],
    artifactClaim: values["artifact-claim"],
    artifactAddress: artifactAddress(values["artifact-port"], values["artifact-socket"]),
    port: values.port === undefined ? undefined : portFlag("agent", "port", values.port),
    self: {
      pod: variable(env, "POD_NAME"),
      podUid: variable(env, "POD_UID"),
      namespace: variable(env, "POD_NAMESPACE"),
      runtime: flag("runtime"),
      capacity: JSON.parse(flag("capacity")) as Amounts,
    },
  };
}

const variable = (env: Environment, name: string) => needed(`environment variable ${name}`, env[name]);

function needed(name: string, value: string | undefined): string {
  if (value === undefined || value === "") throw new UsageError("agent", `${name} is missing`);
  return value;
}
