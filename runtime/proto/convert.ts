/** Between the messages of the contract and the types of the port. Pure; used by server and client. */
import type {
  ExecuteRequest,
  ExecutionEvent,
  ExecutionExit,
  ExecutionSummary,
  ExitCause,
  KillCause,
} from "#runtime/executor-client.ts";
import type * as Wire from "#runtime/proto/gen/messages.gen.ts";
import { fromMicros, toMicros } from "#runtime/proto/time.ts";

/** The other side sent something that the contract has no place for. */
export class ContractViolation extends Error {
  override readonly name = "ContractViolation";
}

const wireCauses = {
  exited: "CAUSE_EXITED",
  cancelled: "CAUSE_CANCELLED",
  "timed-out": "CAUSE_TIMED_OUT",
  "executor-stopped": "CAUSE_EXECUTOR_STOPPED",
  "start-failed": "CAUSE_START_FAILED",
} as const satisfies Record<ExitCause, Wire.Cause>;

const causes: Readonly<Record<Exclude<Wire.Cause, "CAUSE_UNSPECIFIED">, ExitCause>> = {
  CAUSE_EXITED: "exited",
  CAUSE_CANCELLED: "cancelled",
  CAUSE_TIMED_OUT: "timed-out",
  CAUSE_EXECUTOR_STOPPED: "executor-stopped",
  CAUSE_START_FAILED: "start-failed",
};

export function requestToWire(request: ExecuteRequest): Wire.ExecuteRequest {
  return {
    runUid: request.runUid,
    attempt: request.attempt,
    bootId: request.bootId,
    workingDir: request.workingDir,
    script: request.script ?? "",
    interpreter: request.interpreter ?? [],
    args: request.args,
    env: request.env,
    platformEnv: request.platformEnv ?? {},
  };
}

export function requestFromWire({ script, ...request }: Wire.ExecuteRequest): ExecuteRequest {
  return script === "" ? request : { ...request, script };
}

export function killCauseToWire(cause: KillCause): Wire.Cause {
  return wireCauses[cause];
}

/** Anything but a timeout is a cancel: the call is never refused for its cause. */
export function killCauseFromWire(cause: Wire.Cause): KillCause {
  return cause === "CAUSE_TIMED_OUT" ? "timed-out" : "cancelled";
}

export function eventToWire(event: ExecutionEvent): Wire.ExecutionEvent {
  const head = { seq: event.seq, timeMicros: toMicros(event.time) };
  switch (event.kind) {
    case "started":
      return { ...head, started: {} };
    case "output": {
      const stream = event.stream === "stdout" ? "STREAM_STDOUT" : "STREAM_STDERR";
      return { ...head, output: { stream, data: event.bytes, offset: event.offset } };
    }
    case "exited":
      return { ...head, exited: exitToWire(event.exit) };
  }
}

/** @throws {ContractViolation} */
export function eventFromWire(event: Wire.ExecutionEvent): ExecutionEvent {
  const head = { seq: event.seq, time: fromMicros(event.timeMicros) };
  if (event.started !== undefined) return { kind: "started", ...head };
  if (event.output !== undefined) {
    const { stream, data, offset } = event.output;
    if (stream === "STREAM_UNSPECIFIED") throw new ContractViolation(`event ${event.seq} is output of no stream`);
    return { kind: "output", ...head, stream: stream === "STREAM_STDOUT" ? "stdout" : "stderr", offset, bytes: data };
  }
  if (event.exited !== undefined) return { kind: "exited", ...head, exit: exitFromWire(event.exited) };
  throw new ContractViolation(`event ${event.seq} is of no kind that this version knows`);
}

export function summaryToWire(summary: ExecutionSummary): Wire.ExecutionSummary {
  return {
    runUid: summary.runUid,
    attempt: summary.attempt,
    startTimeMicros: toMicros(summary.startTime),
    lastSeq: summary.lastSeq,
    exited: summary.exit === undefined ? undefined : exitToWire(summary.exit),
    exitTimeMicros: toMicros(summary.exitTime ?? 0),
  };
}

/** @throws {ContractViolation} */
export function summaryFromWire(summary: Wire.ExecutionSummary): ExecutionSummary {
  const { runUid, attempt, lastSeq } = summary;
  const known = { runUid, attempt, startTime: fromMicros(summary.startTimeMicros), lastSeq };
  if (summary.exited === undefined) return known;
  return { ...known, exit: exitFromWire(summary.exited), exitTime: fromMicros(summary.exitTimeMicros) };
}

function exitToWire({ cause, ...exit }: ExecutionExit): Wire.Exited {
  return { ...exit, cause: wireCauses[cause] };
}

function exitFromWire(exit: Wire.Exited): ExecutionExit {
  const { cause, exitCode, signal, outOfMemory, leftoverProcesses, message } = exit;
  if (cause === "CAUSE_UNSPECIFIED")
    throw new ContractViolation("an execution ended for no cause that this version knows");
  return {
    cause: causes[cause],
    ...(exitCode === undefined ? {} : { exitCode }),
    ...(signal === undefined ? {} : { signal }),
    outOfMemory,
    leftoverProcesses,
    message,
  };
}
