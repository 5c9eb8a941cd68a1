import type { WorkflowRun } from "#api/kinds/workflow-run.ts";
import { workflowRuns } from "#api/resources.ts";
import { hasEnded } from "#api/workflow-phases.ts";
import type { LogItem, RunLogOptions } from "#extension-api/client/logs.ts";
import { DeletedError, watchObject } from "#kube/watch-object.ts";
import { type Paint, paint } from "#workflows/text.ts";
import { CliError } from "../errors.ts";
import { type ExitCode, exitCodes } from "../exit-codes.ts";
import { recordText, separator, terminalText } from "../progress/log-line.ts";
import { clusterError } from "./errors.ts";
import { orderOf } from "./follow-workflow.ts";
import { LogGoneError } from "./log-errors.ts";
import { readLog } from "./run-logs.ts";
import type { Session } from "./session.ts";
import { tell } from "./several.ts";
import { type StepRun, type StepRuns, stepRuns } from "./step-runs.ts";
import { StepStreams } from "./step-streams.ts";
import { readUsedRuns, UsedRunsWatch } from "./used-runs.ts";
import { readFamily } from "./workflow-family.ts";

/** Labels take turns in these, so that steps that print at the same time are told apart. */
const colors: readonly Paint[] = ["cyan", "yellow", "green", "magenta", "blue"];

/**
 * Shows what the steps of a WorkflowRun printed, each line with its job and step before it: one after the other in the order of the
 * jobs and their attempts or, while it is followed, as they print, in each job after what its earlier attempts have printed.
 *
 * @param options where `attempt` is that of the jobs
 * @returns 1 when the output of a step cannot be shown
 */
export async function showWorkflowLogs(
  name: string,
  { attempt, ...options }: RunLogOptions,
  timestamps: boolean,
  session: Session,
): Promise<ExitCode> {
  const { client, namespace } = session;
  const run = await client.of(workflowRuns).get({ name, namespace });
  // What has ended is shown in order, like any other.
  const follow = options.follow === true && !hasEnded(run.status?.phase);
  const printer = new Printer({ ...options, follow }, timestamps, session);
  const begun = await readSteps(run, session);
  if (attempt === undefined) tellMissing(begun, session);
  const steps = ofAttempt(begun.steps, attempt);
  if (follow) await followSteps(run, steps, attempt, printer, session);
  else for (const step of steps) await printer.show(step);
  printer.tellGone();
  return printer.code;
}

const ofAttempt = (steps: readonly StepRun[], attempt: number | undefined): readonly StepRun[] =>
  attempt === undefined ? steps : steps.filter((step) => step.attempt === attempt);

interface Steps extends StepRuns {
  /** Kinds that the caller may not list, so that more may be there. */
  readonly hidden: readonly string[];
}

async function readSteps(run: WorkflowRun, session: Session): Promise<Steps> {
  const [order, family] = await Promise.all([orderOf(run, session), readFamily(run, session)]);
  return { ...stepRuns(run, family, order), hidden: family.hidden };
}

/** What is not shown for want of the right to list a kind. */
const unseen: Readonly<Record<string, string>> = {
  runs: "what earlier attempts printed",
  workflowruns: "what the Workflows printed that jobs use",
};

/** Who may not list a kind may not be told that something of it is gone. */
function tellMissing({ gone, hidden }: Steps, { env, namespace }: Session): void {
  for (const plural of hidden) {
    env.err.write(`krt: you may not list ${plural} in namespace ${namespace}: ${unseen[plural]} is not shown\n`);
  }
  if (hidden.length > 0 || gone.length === 0) return;
  env.err.write(`krt: the Runs of ${gone.join(", ")} are gone, with what they printed\n`);
}

async function followSteps(
  run: WorkflowRun,
  begun: readonly StepRun[],
  attempt: number | undefined,
  printer: Printer,
  session: Session,
): Promise<void> {
  const { client, env } = session;
  const { name, namespace } = run.metadata;
  const streams = new StepStreams((step) => printer.show(step));
  const caughtUp = streams.earlier(begun).then(() => printer.tellGone());
  let latest = run;
  const used = new UsedRunsWatch(session, () => streams.current(latest, used.runs(), attempt));
  const onChange = (next: WorkflowRun) => {
    latest = next;
    used.see(next);
    streams.current(next, used.runs(), attempt);
  };
  const until = ({ status }: WorkflowRun) => hasEnded(status?.phase);
  const deps = { client, clock: env.clock, random: env.random };
  try {
    const options = { until, onChange, signal: env.interrupted };
    const ended = await watchObject(workflowRuns, { name, namespace }, options, deps);
    await caughtUp;
    if (ended !== undefined) {
      // The watches of those below may be behind, and an attempt may have come and gone between two sights.
      await streams.earlier(ofAttempt((await readSteps(ended, session)).steps, attempt));
      streams.current(ended, await readUsedRuns(ended, session), attempt);
    }
    await streams.ended();
  } catch (error) {
    if (!(error instanceof DeletedError)) throw error;
    throw new CliError(error.message, { exitCode: exitCodes.failed, advice: "What is deleted has no log." });
  } finally {
    used.stop();
  }
}

/** Writes lines of several logs without mixing them up within a line. */
class Printer {
  code: ExitCode = exitCodes.succeeded;
  readonly #options: RunLogOptions;
  readonly #timestamps: boolean;
  readonly #session: Session;
  readonly #gone: { readonly label: string; readonly pod: string }[] = [];
  #shown = 0;

  constructor(options: RunLogOptions, timestamps: boolean, session: Session) {
    this.#options = options;
    this.#timestamps = timestamps;
    this.#session = session;
  }

  async show({ runName, path, earlier }: StepRun): Promise<void> {
    const { env } = this.#session;
    const label = path.join("/");
    // What has ended has no more to come.
    const options = earlier ? { ...this.#options, follow: false } : this.#options;
    const color = colors[this.#shown++ % colors.length] ?? "cyan";
    try {
      for await (const item of await readLog(runName, options, this.#session, env.interrupted)) {
        if (env.interrupted.aborted) return;
        this.#write(item, label, color);
      }
    } catch (thrown) {
      if (env.interrupted.aborted) return;
      const error = await clusterError(thrown, this.#session);
      if (!(error instanceof CliError)) throw error;
      this.code = exitCodes.failed;
      if (error instanceof LogGoneError && !options.follow) {
        this.#gone.push({ label, pod: error.pod });
        return;
      }
      tell(env, new CliError(`the output of ${label} cannot be shown: ${error.message}`));
    }
  }

  /** Tells in one line of the logs that are gone with their Pods. */
  tellGone(): void {
    const gone = this.#gone.splice(0);
    if (gone.length === 0) return;
    const [labels, pods] = [new Set(gone.map(({ label }) => label)), new Set(gone.map(({ pod }) => pod))];
    const message = `the output of ${[...labels].join(", ")} is gone with ${[...pods].join(", ")}: nothing brings it back`;
    tell(this.#session.env, new CliError(message, { advice: "What has to outlive a Pod belongs into an artifact." }));
  }

  #write(item: LogItem, label: string, color: Paint): void {
    const { out, err } = this.#session.env;
    const output = item.stream === "stdout" ? out : err;
    const before = `${label}${separator(item.stream)}`;
    const time = this.#timestamps ? `${item.time} ` : "";
    const text = terminalText(recordText({ ...item, run: "", seq: item.seq ?? 1 }), output.color);
    output.write(`${output.color ? paint(before, color) : before}${time}${text}\n`);
  }
}
