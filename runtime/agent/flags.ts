import { parseDuration } from "#api/duration.ts";
import { type Amounts, wholeNumbers } from "#api/quantity.ts";
import { defaultDrainMs } from "#api/runtimes.ts";
import { parseStrings, portFlag, UsageError } from "#kube/process/flags.ts";
import { type ArtifactAddress, artifactAddress } from "./artifact-address.ts";
import type { AgentIdentity } from "./deps.ts";

/** An hour. */
export const defaultSweepIntervalMs = 3_600_000;

type Environment = Readonly<Record<string, string | undefined>>;

export interface AgentFlags {
  readonly self: AgentIdentity;
  /** Unix socket of the executor. */
  readonly socket: string;
  readonly workspaceRoot: string;
  readonly drainMs: number;
  readonly sweepIntervalMs: number;
  readonly clusterUid: string;
  /** Absent when the Runtime has no artifactStore. */
  readonly artifactRoot: string | undefined;
  readonly artifactClaim: string | undefined;
  /** Where allowed Secrets and ConfigMaps are mounted; absent when the Runtime lists none. */
  readonly references: string | undefined;
  /** Where stored artifacts are served; absent when they are not. */
  readonly artifactAddress: ArtifactAddress | undefined;
  /** Port of probes and of the drain hook; absent under a local cluster, which hears of readiness by a message. */
  readonly port: number | undefined;
}

const flagNames = [
  "runtime",
  "runtime-uid",
  "socket",
  "workspace-root",
  "capacity",
  "drain-timeout",
  "sweep-interval",
  "cluster-uid",
  "artifact-root",
  "artifact-claim",
  "artifact-port",
  "artifact-socket",
  "references",
  "port",
] as const;

/** The command line of the agent, as the pool writes it into Pod templates, and what the downward API tells of the Pod. */
export function parseFlags(args: readonly string[], env: Environment): AgentFlags {
  const values = parseStrings("agent", flagNames, args);
  const flag = (name: keyof typeof values) => needed(`--${name}`, values[name]);
  return {
    socket: flag("socket"),
    workspaceRoot: flag("workspace-root"),
    drainMs: duration("drain-timeout", values["drain-timeout"]) ?? defaultDrainMs,
    sweepIntervalMs: duration("sweep-interval", values["sweep-interval"]) ?? defaultSweepIntervalMs,
    clusterUid: flag("cluster-uid"),
    artifactRoot: values["artifact-root"],
    artifactClaim: values["artifact-claim"],
    references: values.references,
    artifactAddress: artifactAddress(values["artifact-port"], values["artifact-socket"]),
    port: values.port === undefined ? undefined : portFlag("agent", "port", values.port),
    self: {
      pod: variable(env, "POD_NAME"),
      podUid: variable(env, "POD_UID"),
      namespace: variable(env, "POD_NAMESPACE"),
      runtime: flag("runtime"),
      runtimeUid: flag("runtime-uid"),
      capacity: capacity(flag("capacity")),
    },
  };
}

function duration(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const ms = parseDuration(text);
  if (ms === undefined) throw new UsageError("agent", `--${name}=${text} is no duration; write for example 5m`);
  return ms;
}

function capacity(text: string): Amounts {
  try {
    const value: unknown = JSON.parse(text);
    const isMap = typeof value === "object" && value !== null && !Array.isArray(value);
    const amounts = isMap ? wholeNumbers(value as Record<string, number | string>) : undefined;
    if (amounts !== undefined) return amounts;
  } catch {
    // said below
  }
  throw new UsageError("agent", `--capacity=${text} is no JSON object of whole numbers; write for example {"runs":2}`);
}

const variable = (env: Environment, name: string) => needed(`environment variable ${name}`, env[name]);

function needed(name: string, value: string | undefined): string {
  if (value === undefined || value === "") throw new UsageError("agent", `${name} is missing`);
  return value;
}
