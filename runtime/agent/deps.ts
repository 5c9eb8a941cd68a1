import type { Amounts } from "#api/quantity.ts";
import type { Clock, Logger, Random } from "#kube/ports.ts";
import type { Client } from "#kube/resource.ts";
import type { ArtifactLimits } from "#runtime/artifacts/limits.ts";
import type { ArtifactStore } from "#runtime/artifacts/store.ts";
import type { ExecutorClient } from "#runtime/executor-client.ts";
import type { Files } from "#runtime/files/port.ts";
import type { LogLimits } from "#runtime/logs/limits.ts";
import type { LogSink } from "#runtime/logs/sink.ts";
import type { References } from "#runtime/references/port.ts";
import type { GitFetcher } from "#runtime/source/port.ts";
import type { Semaphore } from "./semaphore.ts";

/** The Pod that this agent is the agent of. */
export interface AgentIdentity {
  readonly pod: string;
  readonly podUid: string;
  readonly namespace: string;
  /** Name of the Runtime. */
  readonly runtime: string;
  readonly runtimeUid: string;
  /** Logical capacity of the Pod. */
  readonly capacity: Amounts;
}

/** Everything that the agent needs of the world, and what it is. */
export interface AgentDeps {
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly executor: ExecutorClient;
  readonly files: Files;
  /** Absent when the Runtime has no artifactStore. */
  readonly store: ArtifactStore | undefined;
  readonly git: GitFetcher;
  readonly references: References;
  readonly sink: LogSink;
  readonly self: AgentIdentity;
  readonly logLimits: LogLimits;
  readonly artifactLimits: ArtifactLimits;
  /** Milliseconds between two sweeps of the store; see `sweeper.ts`. */
  readonly sweepIntervalMs: number;
}

/** Slow work is bounded for the whole Pod, so that many Runs at once do not exhaust it; none of it delays a claim. */
export interface Pools {
  readonly clone: Semaphore;
  readonly transfer: Semaphore;
}

/** How long a program has between SIGTERM and SIGKILL. */
export const killGraceMs = 2000;

/** How long an artifact store may be down before a Run without a timeout gives up. */
export const storePatienceMs = 600_000;
