/** Entry of the executor: the process that runs beside the user's image and starts all its processes. */
import { randomUUID } from "node:crypto";
import { constants } from "node:os";
import { resolve } from "node:path";
import type { Clock, Logger } from "#kube/ports.ts";
import { systemClock } from "#kube/system-clock.ts";
import type { ExecutionWorld } from "#runtime/executor/execution.ts";
import { Executions } from "#runtime/executor/executions.ts";
import { findInterpreter, type InterpreterName } from "#runtime/executor/interpreter.ts";
import { killAll } from "#runtime/executor/kill.ts";
import { oomCounter } from "#runtime/executor/oom.ts";
import { NamedPipes } from "#runtime/executor/pipes.ts";
import { systemProcesses } from "#runtime/executor/proc-scan.ts";
import { serve } from "#runtime/executor/server.ts";
import { createStderrLogger } from "#runtime/executor/stderr-logger.ts";
import type { ExecutorHealth } from "#runtime/executor-client.ts";
import { retainedBytes } from "#runtime/proto/limits.ts";

export type ExecutorOptions = {
  /** Where the socket goes; its directory must exist and is also used for pipes. At most 107 bytes. */
  readonly socketPath: string;
  /** Environment of the container. Default: this process's own. */
  readonly containerEnv?: Readonly<Record<string, string | undefined>>;
  /** Retained output for each execution before its program is paused, in bytes. Default: the contract's 256 KiB. */
  readonly retainedBytes?: number;
  /** Default: JSON lines on stderr. */
  readonly log?: Logger;
  readonly clock?: Clock;
} & (
  | { readonly interpreter: InterpreterName }
  /** Command prefix to which the path of a script is appended. */
  | { readonly command: readonly string[] }
);

export interface RunningExecutor {
  readonly bootId: string;
  /** Kills all executions (SIGTERM, after `graceMs` SIGKILL), tells their watchers, stops serving. */
  stop(graceMs: number): Promise<void>;
}

/** How long watchers get to take the last events of a stopping executor. */
const goodbyeMs = 1000;
/** Between SIGTERM and SIGKILL of the executions when the executor itself is told to end. */
const stopGraceMs = 2000;

/** Starts an executor in this process, without touching the process's own signals. */
export async function startExecutor(options: ExecutorOptions): Promise<RunningExecutor> {
  const clock = options.clock ?? systemClock;
  const log = options.log ?? createStderrLogger("executor");
  const containerEnv = options.containerEnv ?? process.env;
  const socketPath = resolve(options.socketPath);
  const path = containerEnv.PATH;
  const bootId = randomUUID();
  const bootTime = clock.now();
  const pipes = new NamedPipes(`${socketPath}.pipes`, path);
  const world: ExecutionWorld = {
    clock,
    processes: systemProcesses,
    pipes,
    executor: socketPath,
    containerEnv,
    interpreter: findInterpreter(options, path).command,
    retainedBytes: options.retainedBytes ?? retainedBytes,
    countOomKills: oomCounter(),
  };
  const executions = new Executions(bootId, world);
  const found = await executions.clearPredecessors();
  if (found > 0) log.warn("killed processes of an earlier executor", { processes: found });

  let stopping: Promise<void> | undefined;
  const health = (): ExecutorHealth => {
    const problem = stopping === undefined ? findInterpreter(options, path).problem : "the executor is stopping";
    return { healthy: problem === undefined, message: problem ?? "", bootId, bootTime };
  };
  const server = await serve({ socketPath, executions, health, log, clock }).catch(async (error) => {
    await pipes.close();
    throw error;
  });
  log.info("serving", { socketPath, bootId });
  return {
    bootId,
    stop(graceMs) {
      stopping ??= executions
        .stop(graceMs)
        .then(() => server.close(goodbyeMs))
        .finally(() => pipes.close());
      return stopping;
    },
  };
}

/**
 * Runs an executor until the process is told to end by SIGTERM or SIGINT. (Reaping orphans is the duty of PID 1, which is
 * tini.) The process ends with 128 + the signal, as one does that does not handle it: a server has not completed, and of a Pod
 * whose containers all ended with 0 the kubelet forgets that it evicted it. When it is killed hard its processes live on until
 * the container ends, or until {@link killExecutorProcesses} or the next executor on the same socket finds them.
 */
export async function runExecutor(options: ExecutorOptions): Promise<void> {
  const told = new Promise<number>((done) => {
    for (const signal of ["SIGTERM", "SIGINT"] as const)
      process.on(signal, () => done(128 + constants.signals[signal]));
  });
  const executor = await startExecutor(options);
  process.exitCode = await told;
  await executor.stop(stopGraceMs);
}

/**
 * Kills at once whatever the executor on this socket has started and left behind; resolves when it is gone, with the number of
 * processes. In a Pod the container's end does that; a local node, which has no container, calls this after it killed an executor.
 */
export function killExecutorProcesses(socketPath: string, clock: Clock = systemClock): Promise<number> {
  const executor = resolve(socketPath);
  return killAll({ owns: (marks) => marks.executor === executor }, { due: 0 }, { clock, processes: systemProcesses });
}
