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
   * @param follow whether the reader stays for what is still to come
   * @throws PodGoneError when there is no such Pod any more
   * @throws LogUnavailableError when its log cannot be read now
   */
  open(pod: PodId, follow: boolean, signal: AbortSignal): Promise<AgentLog>;
}

/**
 * A place between two lines of one agent's log, meaningful only to the adapter that gave it out. Reading on from it gives
 * exactly the lines after it. Letters, digits and dots: it is a part of cursors.
 */
export type Position = string;

export interface LogLine {
  /** Without the line end. */
  readonly text: string;
  /** The place before it, or one with nothing but lines of other Runs in between; undefined where reading began with it. */
  readonly begin: Position | undefined;
  /** The place after it. */
  readonly end: Position;
}

export interface LogBatch {
  /** In the order they were printed. */
  readonly lines: readonly LogLine[];
  /** The place after everything that was looked at, other lines included; undefined while nothing was. */
  readonly end: Position | undefined;
}

/** The lines of a Run at the end of a log. */
export interface Newest {
  /** The place after the last line there is, of whatever Run; undefined when there is none. */
  readonly end: Position | undefined;
  /** The newest batch first; each in the order in which its lines were printed. */
  readonly batches: AsyncIterable<readonly LogLine[]>;
}

/** The log of one agent. */
export interface AgentLog {
  readonly podUid: string;
  /**
   * Reads backwards.
   * @param run UID of the Run whose lines are wanted
   * @param sinceMs lines older than this (milliseconds since the epoch) may be left out
   */
  newest(run: string, sinceMs: number): Promise<Newest>;
  /**
   * Opens the log at a place (default: at the oldest line), and tells whether lines can be read on from there without a gap.
   * @param sinceMs as for {@link forwards}, which is to follow
   */
  has(position: Position | undefined, sinceMs: number): Promise<boolean>;
  /**
   * The lines of a Run from a place (default: from the oldest) to the end there is now. Where lines after the place are gone,
   * those that are left.
   * @param sinceMs without a place: lines older than this (milliseconds since the epoch) may be left out
   * @throws PositionLostError when there never was such a place
   * @throws PodGoneError when there may have been more, and the Pod is gone
   * @throws TooSlowError when the reader has fallen too far behind one that is shared
   */
  forwards(run: string, from: Position | undefined, sinceMs: number): AsyncIterable<LogBatch>;
  /**
   * When the oldest line was printed that is kept of the part of the log in which lines of a time would be; both in milliseconds
   * since the epoch. Undefined when there is none.
   */
  beginsMs(atMs: number): Promise<number | undefined>;
  /** Calls `fn` whenever there are new lines, for a log that is followed. */
  onGrowth(fn: () => void): Cancel;
  /**
   * Resolves with true when everything that the agent had printed before the call can be read; at once with false where
   * nobody can tell.
   */
  settle(): Promise<boolean>;
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

/** The reader takes longer than the log grows, and others read the same log. */
export class TooSlowError extends Error {
  override readonly name = "TooSlowError";
}
