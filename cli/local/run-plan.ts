import { formatDuration } from "#api/duration.ts";
import type { LogRecord } from "#api/log-record.ts";
import { Once } from "#api/log-repeats.ts";
import type { Logger } from "#kube/ports.ts";
import { sleep } from "#kube/ports.ts";
import type { Cluster } from "#local/cluster.ts";
import type { Environment } from "../environment.ts";
import { CliError } from "../errors.ts";
import { type ExitCode, exitCodes } from "../exit-codes.ts";
import { apply, type Created } from "../manifests/apply.ts";
import type { Plan } from "../manifests/plan.ts";
import { LiveDisplay } from "../progress/live.ts";
import { PlainDisplay } from "../progress/plain.ts";
import { isSuccess, type View } from "../progress/view.ts";
import { type Watched, watchExecutions } from "../progress/watch.ts";
import { summaryLines } from "../summary/summary.ts";
import { jobOrders } from "./job-order.ts";
import { startLocal } from "./start.ts";

export interface RunOptions {
  /** Whether the output of the Runs is shown while they run. */
  readonly follow: boolean;
  /** Whether the log of the cluster goes to the terminal, where nothing can be redrawn then. */
  readonly verbose: boolean;
  /** Longest time from the start of the runs to their end. */
  readonly timeoutMs: number;
}

export interface Result {
  readonly code: ExitCode;
  readonly view: View;
  /** To be told after everything else. */
  readonly problem?: CliError;
}

type End = "over" | "timeout" | "interrupted";

/**
 * Starts a cluster in a directory, executes a plan, shows its progress, and ends with a summary. No process is left when it
 * resolves or rejects.
 *
 * @throws ManifestError when the API server refuses an object.
 */
export async function runPlan(
  plan: Plan,
  directory: string,
  options: RunOptions,
  env: Environment,
  logger: Logger,
): Promise<Result> {
  const { clock } = env;
  const begun = clock.monotonic();
  const cluster = await startLocal(directory, "memory", env, logger);
  const startMs = clock.monotonic() - begun;
  let finish: () => Result;
  try {
    finish = await inCluster(cluster, plan, startMs, options, env, logger);
  } finally {
    // Output that was on its way has arrived when this resolves.
    await cluster.stop();
  }
  return finish();
}

/** @returns what to do when the cluster has stopped. */
async function inCluster(
  cluster: Cluster,
  plan: Plan,
  startMs: number,
  options: RunOptions,
  env: Environment,
  logger: Logger,
): Promise<() => Result> {
  const { clock, random, out } = env;
  // Output may come before it is known whose it is.
  const early: LogRecord[] = [];
  let take = (record: LogRecord): void => void early.push(record);
  const once = new Once();
  cluster.logs.follow((record) => {
    const fresh = once.take(record);
    if (fresh !== undefined) take(fresh);
  });
  const created = await apply(plan, cluster.client);
  const orderOf = jobOrders(plan, created.workflowRuns);
  const live = out.isTerminal && !options.verbose;
  const display = live ? new LiveDisplay(out, clock, orderOf) : new PlainDisplay(out, clock);
  display.note(`Started a local cluster in ${formatDuration(Math.round(startMs / 10) * 10)}`);
  for (const text of createdLines(created)) display.note(text);
  const deps = { client: cluster.client, clock, random, logger, display };
  const watched = await watchExecutions(created, options.follow, deps);
  take = watched.take;
  for (const record of early) take(record);
  const end = await waitForEnd(watched, options.timeoutMs, env);
  if (end === "interrupted") display.note("Interrupted: ending everything; another Ctrl-C leaves at once");
  const unfinished = watched.unfinished();
  await watched.stop();
  return () => {
    display.end();
    const view = watched.view();
    const summary = summaryLines(view, watched.runs(), watched.tails, {
      now: clock.now(),
      color: out.color,
      orderOf,
    });
    out.write(`\n${summary.map((line) => `${line}\n`).join("")}`);
    return resultOf(end, view, unfinished, options.timeoutMs);
  };
}

function createdLines({ workflowRuns, runs }: Created): string[] {
  return [
    ...workflowRuns.map(({ metadata, spec }) => {
      const from = spec.workflowRef === undefined ? "" : ` from Workflow ${spec.workflowRef.name}`;
      return `Created WorkflowRun ${metadata.name}${from}`;
    }),
    ...runs.map(({ metadata }) => `Created Run ${metadata.name}`),
  ];
}

async function waitForEnd(watched: Watched, timeoutMs: number, { clock, interrupted }: Environment): Promise<End> {
  const waiting = new AbortController();
  const signal = AbortSignal.any([interrupted, waiting.signal]);
  try {
    return await Promise.race([
      watched.over.then((): End => "over"),
      sleep(clock, timeoutMs, signal).then((): End => (interrupted.aborted ? "interrupted" : "timeout")),
    ]);
  } finally {
    waiting.abort();
  }
}

function resultOf(end: End, view: View, unfinished: readonly string[], timeoutMs: number): Result {
  switch (end) {
    case "over":
      return { code: isSuccess(view) ? exitCodes.succeeded : exitCodes.failed, view };
    case "interrupted":
      return { code: exitCodes.interrupted, view };
    case "timeout": {
      const problem = new CliError(`not everything was over after ${formatDuration(timeoutMs)}`, {
        details: unfinished,
        advice: "Raise --timeout, or see above what it waited for.",
        exitCode: exitCodes.timeout,
      });
      return { code: exitCodes.timeout, view, problem };
    }
  }
}
