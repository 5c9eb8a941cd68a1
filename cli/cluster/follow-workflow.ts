import type { JobSpec } from "#api/kinds/job.ts";
import type { WorkflowAction } from "#api/kinds/workflow-action.ts";
import type { WorkflowRun } from "#api/kinds/workflow-run.ts";
import { workflowActions, workflowRuns, workflows } from "#api/resources.ts";
import { hasEnded } from "#api/workflow-phases.ts";
import { fromStart, type LogItem } from "#extension-api/client/logs.ts";
import { DeletedError, watchObject } from "#kube/watch-object.ts";
import { renderTree } from "#workflows/tree.ts";
import { noneUsed } from "#workflows/used-runs.ts";
import { CliError } from "../errors.ts";
import { type ExitCode, exitCodes } from "../exit-codes.ts";
import type { Display } from "../progress/display.ts";
import { LiveDisplay } from "../progress/live.ts";
import { recordText } from "../progress/log-line.ts";
import { PlainDisplay } from "../progress/plain.ts";
import { lacksOf } from "../progress/waits.ts";
import { clusterError } from "./errors.ts";
import { type Ending, onInterrupt } from "./interrupt.ts";
import { readLog } from "./run-logs.ts";
import type { Session } from "./session.ts";
import { type StepRun, stepRuns } from "./step-runs.ts";
import { StepStreams } from "./step-streams.ts";
import { readUsedRuns, UsedRunsWatch } from "./used-runs.ts";
import { readFamily } from "./workflow-family.ts";

/**
 * Shows how a WorkflowRun goes on until it has ended: as a tree that is drawn in place on a terminal, as lines elsewhere.
 *
 * @param output whether the output of its steps is shown, too
 * @param mayStop whether Ctrl-C asks about stopping it; otherwise it only ends the watching
 * @returns 0 when it succeeded, 1 when it failed, 130 when Ctrl-C has ended it or the watching
 */
export async function followWorkflowRun(
  name: string,
  output: boolean,
  mayStop: boolean,
  session: Session,
): Promise<ExitCode> {
  const { env, client, namespace } = session;
  const { clock, random, out } = env;
  const run = await client.of(workflowRuns).get({ name, namespace });
  const order = await orderOf(run, session);
  const display = out.isTerminal ? new LiveDisplay(out, clock, () => order) : new PlainDisplay(out, clock);
  const logs = new StepLogs(display, session);
  let latest = run;
  const used = new UsedRunsWatch(session, () => show(latest));
  const show = (next: WorkflowRun) => {
    latest = next;
    used.see(next);
    if (output) logs.streams.current(next, used.runs());
    // A tree has it already.
    display.update({ workflowRuns: [next], used: used.runs(), runs: [], waits: out.isTerminal ? [] : lacksOf(next) });
  };
  const leaving = new AbortController();
  const forget = mayStop
    ? onInterrupt(stopping(name, display, session), session, leaving)
    : leaveAt(env.interrupted, leaving);
  let ended: WorkflowRun | undefined;
  let usedAtEnd = noneUsed;
  try {
    if (output) await logs.catchUp(run);
    const until = ({ status }: WorkflowRun) => hasEnded(status?.phase);
    const deps = { client, clock, random };
    ended = await watchObject(
      workflowRuns,
      { name, namespace },
      { until, onChange: show, signal: leaving.signal },
      deps,
    );
    if (ended !== undefined) {
      // The watches of those below may be behind.
      usedAtEnd = await readUsedRuns(ended, session);
      display.update({ workflowRuns: [ended], used: usedAtEnd, runs: [], waits: [] });
      if (output) {
        await logs.catchUp(ended);
        logs.streams.current(ended, usedAtEnd);
        await logs.streams.ended();
      }
    }
  } catch (error) {
    if (!(error instanceof DeletedError)) throw error;
    throw new CliError(error.message, { exitCode: exitCodes.failed, advice: "What is deleted never ends." });
  } finally {
    forget();
    used.stop();
    logs.stop();
    display.end();
  }
  if (ended === undefined) {
    env.err.write(`WorkflowRun ${name} goes on; \`${env.invokedAs} workflow watch ${name}\` shows it again\n`);
    return exitCodes.interrupted;
  }
  const lines = renderTree(ended, { now: clock.now(), color: out.color, used: usedAtEnd, ...(order && { order }) });
  out.write(`${out.isTerminal ? "" : "\n"}${lines.map((line) => `${line}\n`).join("")}`);
  if (ended.status?.phase === "Succeeded") return exitCodes.succeeded;
  return env.interrupted.aborted ? exitCodes.interrupted : exitCodes.failed;
}

const stopping = (name: string, display: Display, { client, namespace }: Session): Ending => ({
  what: `WorkflowRun ${name}`,
  verb: ["Stop", "Stopping"],
  end: () =>
    client.of(workflowActions).create({
      // `name` is the server's to give; our types want it of every object that was read.
      metadata: { generateName: `${name}-stop-`, namespace } as unknown as WorkflowAction["metadata"],
      spec: { workflowRef: { name }, action: "Stop", stop: { message: "Ctrl-C" } },
    }),
  asking: (begins) => display.hold(begins),
});

function leaveAt(interrupted: AbortSignal, leaving: AbortController): () => void {
  const leave = () => leaving.abort();
  interrupted.addEventListener("abort", leave, { once: true });
  if (interrupted.aborted) leave();
  return () => interrupted.removeEventListener("abort", leave);
}

/** The order of the jobs as the graph has it; undefined where the templates cannot be read. */
export async function orderOf(
  run: WorkflowRun,
  { client, namespace }: Session,
): Promise<readonly string[] | undefined> {
  const { compileWorkflow } = await import("#workflows/compile-workflow.ts");
  const { jobs, workflowRef } = run.spec;
  const read = async (): Promise<Record<string, JobSpec> | undefined> => {
    if (jobs !== undefined || workflowRef === undefined) return jobs;
    return (await client.of(workflows).get({ name: workflowRef.name, namespace })).spec.jobs;
  };
  const found = await read().catch(() => undefined);
  const compiled = found === undefined ? undefined : compileWorkflow({ jobs: found });
  return compiled?.ok ? compiled.plan.order : undefined;
}

/** The output of the steps of a WorkflowRun, each from its beginning. */
class StepLogs {
  readonly #display: Display;
  readonly #session: Session;
  readonly #stopping = new AbortController();
  readonly streams = new StepStreams((step) => this.#show(step));

  constructor(display: Display, session: Session) {
    this.#display = display;
    this.#session = session;
  }

  /** Shows what attempts have printed that nobody has watched. */
  async catchUp(run: WorkflowRun): Promise<void> {
    await this.streams.earlier(stepRuns(run, await readFamily(run, this.#session)).steps);
  }

  stop(): void {
    this.#stopping.abort();
  }

  async #show({ runName, path, earlier }: StepRun): Promise<void> {
    const { signal } = this.#stopping;
    const label = path.join("/");
    try {
      const options = { follow: !earlier, cursor: fromStart };
      for await (const item of await readLog(runName, options, this.#session, signal)) {
        this.#display.log({ label, stream: item.stream, text: textOf(item) });
      }
    } catch (thrown) {
      if (signal.aborted) return;
      const error = await clusterError(thrown, this.#session);
      this.#display.note(`The output of ${label} cannot be shown: ${error instanceof Error ? error.message : error}`);
    }
  }
}

const textOf = (item: LogItem): string => recordText({ ...item, run: "", seq: item.seq ?? 1 });
