import { constants } from "node:os";
import type { Run } from "#api/kinds/run.ts";
import { sleep } from "#kube/ports.ts";
import type { AttemptEvent } from "#machines/attempt.ts";
import {
  AttemptOverError,
  BootIdChangedError,
  type ExecuteRequest,
  type ExecutionExit,
  type ExecutionId,
  ExecutionNotFoundError,
  type ExecutorClient,
  ExecutorUnavailableError,
  InvalidExecuteRequestError,
} from "#runtime/executor-client.ts";
import type { RunLayout } from "#runtime/files/layout.ts";
import { Printed } from "#runtime/logs/printed.ts";
import type { RunLog } from "#runtime/logs/run-log.ts";
import { type AgentDeps, killGraceMs } from "./deps.ts";
import { patiently } from "./patience.ts";
import type { Prepared } from "./prepare.ts";

const isUnavailable = (error: unknown) => error instanceof ExecutorUnavailableError;

/** What the executor is to start for an attempt. */
export function executeRequest(
  deps: AgentDeps,
  run: Run,
  attempt: number,
  bootId: string,
  layout: RunLayout,
  { script, variables }: Pick<Prepared, "script" | "variables">,
): ExecuteRequest {
  return {
    runUid: run.metadata.uid ?? "",
    attempt,
    bootId,
    workingDir: layout.workingDirectory,
    ...(script === undefined ? {} : { script }),
    args: run.spec.mode?.task?.args ?? [],
    env: variables?.env ?? {},
    platformEnv: {
      KRUNTIME_OUTPUTS: layout.outputs,
      KRUNTIME_ARTIFACTS_DIR: layout.artifacts,
      KRUNTIME_RUN_NAME: run.metadata.name,
      KRUNTIME_NAMESPACE: deps.self.namespace,
      HOME: layout.home,
      TMPDIR: layout.tmp,
    },
  };
}

/** Starts the program; repeating is safe, so an executor that does not answer is asked again. */
export async function start(deps: AgentDeps, request: ExecuteRequest, signal: AbortSignal): Promise<AttemptEvent> {
  try {
    await askExecutor(deps, signal, () => deps.executor.execute(request));
    return { type: "STARTED" };
  } catch (error) {
    signal.throwIfAborted();
    const message = error instanceof Error ? error.message : String(error);
    if (error instanceof BootIdChangedError || error instanceof AttemptOverError) {
      return { type: "FAILED", reason: "AttemptLost", message };
    }
    if (error instanceof InvalidExecuteRequestError) return { type: "FAILED", reason: "StartFailed", message };
    throw error;
  }
}

/** Follows a program to its end: its output goes to the log, its exit is the answer. */
export async function follow(
  deps: AgentDeps,
  id: ExecutionId,
  log: RunLog,
  signal: AbortSignal,
): Promise<{ readonly exit: ExecutionExit } | { readonly lost: string }> {
  const printed = new Printed(log);
  let exit: ExecutionExit | undefined;
  try {
    await askExecutor(deps, signal, () =>
      deps.executor.watch(
        id,
        printed.upTo + 1,
        (event) => {
          if (event.kind === "exited") exit = event.exit;
          return printed.take(event);
        },
        signal,
        () => printed.upTo,
      ),
    );
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof ExecutionNotFoundError) {
      return { lost: "the executor restarted and does not know the attempt any more" };
    }
    throw error;
  }
  signal.throwIfAborted();
  // An agent that died had taken the end already: events that were taken do not come again, but the list has it.
  exit ??= await askExecutor(deps, signal, () => exitOf(deps.executor, id));
  return exit === undefined ? { lost: "the executor does not know how the program ended" } : { exit };
}

/** A container that ends alone is started again at once, unless it has ended again and again. */
const restartMs = 10_000;

/**
 * Resolves when another executor answers than the one that was stopped: then only its container was restarted, and the
 * Pod goes on. Also after 10 s, since a container that keeps ending is started later and later.
 */
export async function nextExecutor(
  { clock, executor }: Pick<AgentDeps, "clock" | "executor">,
  stoppedBootId: string,
  signal: AbortSignal,
): Promise<void> {
  const until = clock.monotonic() + restartMs;
  while (clock.monotonic() < until && !signal.aborted) {
    const next = await executor.health(signal).catch(() => undefined); // it is not there yet
    if (next !== undefined && next.bootId !== stoppedBootId) return;
    await sleep(clock, 200, signal);
  }
}

async function exitOf(executor: ExecutorClient, id: ExecutionId): Promise<ExecutionExit | undefined> {
  const listed = await executor.list();
  return listed.find(({ runUid, attempt }) => runUid === id.runUid && attempt === id.attempt)?.exit;
}

/**
 * Kills every process of an attempt. An executor that does not answer is asked until it does, or has started anew.
 *
 * @returns how the program ended, for people; undefined when it was not killed: it had not begun, or had ended before
 */
export async function killAttempt(
  deps: AgentDeps,
  id: ExecutionId,
  cause: "cancelled" | "timed-out",
  signal: AbortSignal,
): Promise<string | undefined> {
  await askExecutor(deps, signal, () => deps.executor.cancel(id, killGraceMs, cause));
  return howKilled(await askExecutor(deps, signal, () => exitOf(deps.executor, id)));
}

function howKilled(exit: ExecutionExit | undefined): string | undefined {
  if (exit?.cause !== "cancelled" && exit?.cause !== "timed-out") return undefined;
  if (exit.signal === "SIGKILL") return "its program did not end by SIGTERM and was ended by SIGKILL";
  if (exit.signal !== undefined) return `its program was ended by ${exit.signal}`;
  return `its program ended after SIGTERM with exit code ${exit.exitCode}`;
}

/** Has the executor drop what it keeps of an attempt that is over; it is asked until it answers. */
export async function forgetAttempt(deps: AgentDeps, id: ExecutionId, signal: AbortSignal): Promise<void> {
  await askExecutor(deps, signal, () => deps.executor.forget(id));
}

function askExecutor<T>(deps: AgentDeps, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  const { clock, random } = deps;
  return patiently(work, { clock, random, signal, isTransient: isUnavailable, baseMs: 20, maxMs: 1000 });
}

/** The exit of a program as the event of its attempt. */
export function exitEvent(exit: ExecutionExit, log: RunLog): AttemptEvent {
  if (exit.cause === "start-failed") return { type: "FAILED", reason: "StartFailed", message: exit.message };
  if (exit.cause === "executor-stopped") {
    return { type: "FAILED", reason: "AttemptLost", message: "the executor was stopped and ended the program" };
  }
  const how = [
    exit.signal === undefined ? undefined : `ended by ${exit.signal}${exit.outOfMemory ? " (OOMKilled)" : ""}`,
    exit.message || undefined,
    log.stderrTail() || undefined,
  ];
  return { type: "EXIT", exitCode: exitCodeOf(exit), message: how.filter((part) => part !== undefined).join(": ") };
}

/** As in shells: 128 and the number of the signal for a program that a signal ended. */
function exitCodeOf({ exitCode, signal }: ExecutionExit): number {
  if (exitCode !== undefined) return exitCode;
  return 128 + (constants.signals[signal as keyof typeof constants.signals] ?? 0);
}
