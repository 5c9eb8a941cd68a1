/**
 * The port through which the agent starts, follows and ends processes. Two adapters exist: `grpc-executor-client.ts` speaks to
 * the executor (or a custom Runtime Server) of the Pod, `simulated-executor.ts` runs programs that are data under a
 * {@link Clock}. Both pass the same contract tests.
 */

/** One attempt of one Run. An attempt number never starts twice. */
export interface ExecutionId {
  /** UID of the Run object. */
  readonly runUid: string;
  /** Number of the attempt, from 1. */
  readonly attempt: number;
}

/** What to start. With `script` the command is interpreter + script + args; without it `args` is the whole command. */
export interface ExecuteRequest extends ExecutionId {
  /** Boot id read before the claim; an executor that booted since refuses with {@link BootIdChangedError}. */
  readonly bootId: string;
  /** Absolute path; must exist. */
  readonly workingDir: string;
  /** Absolute path of the script. One that starts with `#!` and is executable is executed directly. */
  readonly script?: string;
  /** Command prefix for the script, in place of the executor's own interpreter. */
  readonly interpreter?: readonly string[];
  readonly args: readonly string[];
  /** The user's variables; they win over those of the container. */
  readonly env: Readonly<Record<string, string>>;
  /**
   * Variables of the platform; they win over `env`. `KRUNTIME_RUN_UID` and `KRUNTIME_ATTEMPT` need not be here: the
   * executor always sets them from the id, because they mark the processes of the attempt.
   */
  readonly platformEnv?: Readonly<Record<string, string>>;
}

/** Why the platform killed an execution. The decision is the agent's; the executor only remembers it. */
export type KillCause = "cancelled" | "timed-out";

/**
 * How an execution ended.
 *
 * - `exited`: by itself; also when somebody else killed it.
 * - `cancelled`, `timed-out`: it was still running when the agent called {@link ExecutorClient.cancel} with that cause.
 * - `executor-stopped`: the executor is shutting down and killed it; says nothing about the program.
 * - `start-failed`: no process came to be; `message` says why, exit code 127 (not found) or 126 (not executable) as in shells.
 */
export type ExitCause = "exited" | KillCause | "executor-stopped" | "start-failed";

export interface ExecutionExit {
  readonly cause: ExitCause;
  /** 0 to 255; absent when a signal ended the process. */
  readonly exitCode?: number;
  /** For example `SIGKILL`; absent when the process exited by itself. */
  readonly signal?: string;
  /** A hint: the kernel's OOM killer was active in the container while this execution ran, and its end fits that. */
  readonly outOfMemory: boolean;
  /** Processes that outlived the main process and were killed before the end was reported. */
  readonly leftoverProcesses: number;
  /** For people; empty when there is nothing to add to code and signal. */
  readonly message: string;
}

export type OutputStream = "stdout" | "stderr";

/** `seq` starts at 1 and rises by 1 over all events of an execution; `time` is in milliseconds since the epoch, with a fraction. */
export type ExecutionEvent =
  | { readonly kind: "started"; readonly seq: number; readonly time: number }
  | {
      readonly kind: "output";
      readonly seq: number;
      readonly time: number;
      readonly stream: OutputStream;
      /** Bytes of the stream before these. */
      readonly offset: number;
      /** Raw bytes as the process wrote them, at most 64 KiB; not cut at lines or characters. */
      readonly bytes: Uint8Array;
    }
  | { readonly kind: "exited"; readonly seq: number; readonly time: number; readonly exit: ExecutionExit };

/** One row of {@link ExecutorClient.list}. */
export interface ExecutionSummary extends ExecutionId {
  /** When Execute was accepted; milliseconds since the epoch. */
  readonly startTime: number;
  /** Sequence number of the newest event; 0 before the first. */
  readonly lastSeq: number;
  /** Present once the execution is over (its `exited` event exists). */
  readonly exit?: ExecutionExit;
  /** Present with `exit`; milliseconds since the epoch. */
  readonly exitTime?: number;
}

export interface ExecutorHealth {
  /** False: take no new work; the Pod is not ready. */
  readonly healthy: boolean;
  readonly message: string;
  /** Random for each start of the executor process. All executions of an earlier boot are gone, processes included. */
  readonly bootId: string;
  /** When the executor started; milliseconds since the epoch. */
  readonly bootTime: number;
}

/**
 * Every method may reject with {@link ExecutorUnavailableError}: the call may or may not have taken effect. All methods are
 * idempotent, so the answer to it is to call again.
 */
export interface ExecutorClient {
  health(signal?: AbortSignal): Promise<ExecutorHealth>;

  /**
   * Starts the process and returns without waiting for its end. Repeating it starts nothing: `alreadyRunning` is true when
   * the execution was known (running, or finished and not yet forgotten).
   *
   * @throws {BootIdChangedError} the executor is not the one that the boot id names.
   * @throws {AttemptOverError} the attempt was forgotten or cancelled before, or a later attempt of the Run is known.
   * @throws {InvalidExecuteRequestError} a field is malformed. (A program that cannot be started is no error here: it is
   * an `exited` event with cause `start-failed`.)
   */
  execute(request: ExecuteRequest): Promise<{ readonly alreadyRunning: boolean }>;

  /**
   * Delivers the events from `fromSeq` on (0 or 1: all that are retained), one at a time and in order, and resolves after
   * `onEvent` has taken the `exited` event, or when `signal` is aborted (no error then).
   *
   * An event counts as taken when the promise of `onEvent` resolves; where `taken` is given, when that names it or a later
   * one. Taken output may be dropped by the executor. Output that is not taken is never dropped: beyond a bound the program is
   * paused. After a reconnect events that were taken may come again unless `fromSeq` says otherwise; a gap never occurs. An
   * error of `onEvent` ends the watch and is passed on.
   *
   * @throws {ExecutionNotFoundError} the executor does not know the execution.
   */
  watch(
    id: ExecutionId,
    fromSeq: number,
    onEvent: (event: ExecutionEvent) => void | Promise<void>,
    signal?: AbortSignal,
    taken?: () => number,
  ): Promise<void>;

  /** All executions, running and finished, that were not forgotten. */
  list(): Promise<readonly ExecutionSummary[]>;

  /**
   * SIGTERM to all processes of the execution, after `graceMs` SIGKILL; resolves when all of them are gone (those that left
   * the process group included) and the `exited` event is recorded, which needs no reader. On an execution that is over or
   * unknown it only makes sure that no process is left and that the attempt never starts later. Calling again with less grace
   * shortens the wait. `cause` (default `cancelled`) comes back in the `exited` event; the first one given counts.
   */
  cancel(id: ExecutionId, graceMs: number, cause?: KillCause): Promise<void>;

  /**
   * Drops a finished execution with its retained output; unknown ones are ignored. Call it after the terminal write.
   *
   * @throws {StillRunningError} the execution is not over.
   */
  forget(id: ExecutionId): Promise<void>;
}

/** `uid#attempt`, the key of an execution in maps and messages. */
export function executionKey(id: ExecutionId): string {
  return `${id.runUid}#${id.attempt}`;
}

/**
 * The executor has restarted since the boot id was read, so nothing that was started before exists any more.
 *
 * What to do: the attempt is lost; never start it again under the same number.
 */
export class BootIdChangedError extends Error {
  override readonly name = "BootIdChangedError";
  readonly expectedBootId: string;

  constructor(expectedBootId: string, options?: ErrorOptions) {
    super(`the executor is no longer the one with boot id ${expectedBootId}; it has restarted since`, options);
    this.expectedBootId = expectedBootId;
  }
}

/**
 * The attempt was cancelled or forgotten before, or a later attempt of the Run is known: a late or repeated start.
 *
 * What to do: drop the start; the attempt's end is already decided elsewhere.
 */
export class AttemptOverError extends Error {
  override readonly name = "AttemptOverError";
  readonly id: ExecutionId;

  constructor(id: ExecutionId, options?: ErrorOptions) {
    super(`attempt ${id.attempt} of Run ${id.runUid} is over on this executor and never starts again`, options);
    this.id = id;
  }
}

/** A field of the request is malformed; the message names it. What to do: fix the caller; repeating does not help. */
export class InvalidExecuteRequestError extends Error {
  override readonly name = "InvalidExecuteRequestError";
}

/**
 * The executor does not know this execution: it was never started there, was forgotten, or the executor has restarted.
 *
 * What to do: read the health; with another boot id the attempt is lost.
 */
export class ExecutionNotFoundError extends Error {
  override readonly name = "ExecutionNotFoundError";
  readonly id: ExecutionId;

  constructor(id: ExecutionId, options?: ErrorOptions) {
    super(`attempt ${id.attempt} of Run ${id.runUid} is not known to the executor`, options);
    this.id = id;
  }
}

/** A running execution cannot be forgotten. What to do: cancel it, or wait for its `exited` event. */
export class StillRunningError extends Error {
  override readonly name = "StillRunningError";
  readonly id: ExecutionId;

  constructor(id: ExecutionId, options?: ErrorOptions) {
    super(`attempt ${id.attempt} of Run ${id.runUid} is still running; cancel it first`, options);
    this.id = id;
  }
}

/**
 * The executor gave no usable answer: no connection, a deadline passed, or the stream broke.
 *
 * What to do: the call may have taken effect. Read the health and repeat the call; all calls are idempotent.
 */
export class ExecutorUnavailableError extends Error {
  override readonly name = "ExecutorUnavailableError";
}
