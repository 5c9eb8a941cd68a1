import type { Run } from "#api/kinds/run.ts";
import type { Cancel } from "#kube/ports.ts";

/** What the log service needs of the world. Positions and Pods are the adapters' business; records and Runs are ours. */

/** The Runs, as the API server has them. */
export interface Runs {
  /** @throws StatusError 404 when there is no such Run. */
  get(namespace: string, name: string, signal: AbortSignal): Promise<Run>;
  /** Calls `onChange` with the Run as it is, then at each change; with `undefined` when it is gone. */
  observe(namespace: string, name: string, onChange: (run: Run | undefined) => void): Cancel;
}

/** A Pod by what a Run's status knows of it: attempts that are over have no UID. */
export interface PodId {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string | undefined;
}

/** What the agents of Pods have printed. */
export interface AgentLogs {
  /**
   * @throws PodGoneError when there is no such Pod any more
   * @throws LogUnavailableError when its log cannot be read now
   */
  open(pod: PodId, signal: AbortSignal): Promise<AgentLog>;
}

/**
 * A place between two lines of one agent's log, meaningful only to the adapter that gave it out. Reading on from it gives
 * exactly the lines after it.
 */
export type Position = string;

export interface LogLine {
  /** Without the line end. */
  readonly text: string;
  /** The place after it. */
  readonly end: Position;
}

export interface LogBatch {
  /** In the order they were printed. */
  readonly lines: readonly LogLine[];
  /** The place after everything that was looked at, other lines included. */
  readonly end: Position;
}

/** The log of one agent. All methods that take a `prefix` skip lines that begin otherwise without decoding them. */
export interface AgentLog {
  readonly podUid: string;
  /** The place after the last line there is. */
  end(): Promise<Position>;
  /** Whether lines can be read on from there without a gap. */
  has(position: Position): Promise<boolean>;
  /**
   * The lines before `end`, newest batch first.
   * @param sinceMs lines older than this (milliseconds since the epoch) may be left out
   */
  backwards(prefix: Buffer, end: Position, sinceMs: number): AsyncIterable<readonly LogLine[]>;
  /**
   * The lines from a place (default: from the oldest) to the end there is now.
   * @throws PositionLostError when lines after it are gone
   */
  forwards(prefix: Buffer, from: Position | undefined): AsyncIterable<LogBatch>;
  /** Calls `fn` whenever there are new lines. */
  onGrowth(fn: () => void): Cancel;
  /** Resolves when everything that the agent had printed before the call can be read. */
  settle(): Promise<void>;
  close(): Promise<void>;
}

/** There is no such Pod any more, or another one has its name. Its log went with it. */
export class PodGoneError extends Error {
  override readonly name = "PodGoneError";
}

/** The log exists but cannot be read now. Try again. */
export class LogUnavailableError extends Error {
  override readonly name = "LogUnavailableError";
}

/** Lines after the position are not kept any more. */
export class PositionLostError extends Error {
  override readonly name = "PositionLostError";
}
