import type { WorkflowRun } from "#api/kinds/workflow-run.ts";
import { workflowRuns } from "#api/resources.ts";
import { hasEnded } from "#api/workflow-phases.ts";
import type { LogItem, RunLogOptions } from "#extension-api/client/logs.ts";
import { DeletedError, watchObject } from "#kube/watch-object.ts";
import { type Paint, paint } from "#workflows/text.ts";
import type { UsedRuns } from "#workflows/used-runs.ts";
import { CliError } from "../errors.ts";
import { type ExitCode, exitCodes } from "../exit-codes.ts";
import { recordText, separator, terminalText } from "../progress/log-line.ts";
import { clusterError } from "./errors.ts";
import { orderOf } from "./follow-workflow.ts";
import { readLog } from "./run-logs.ts";
import type { Session } from "./session.ts";
import { tell } from "./several.ts";
import { type StepRun, type StepRuns, stepRuns } from "./step-runs.ts";
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
  const printer = new Printer(options, timestamps, session);
  const chosen = (steps: readonly StepRun[]) =>
    attempt === undefined ? steps : steps.filter((step) => step.attempt === attempt);
  const run = await client.of(workflowRuns).get({ name, namespace });
  const begun = await readSteps(run, session);
  if (attempt === undefined) tellMissing(begun, session);
  if (options.follow) await followSteps(run, chosen(begun.steps), chosen, printer, session);
  else for (const step of chosen(begun.steps)) await printer.show(step);
  return printer.code;
}

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
  chosen: (steps: readonly StepRun[]) => readonly StepRun[],
  printer: Printer,
  session: Session,
): Promise<void> {
  const { client, env } = session;
  const { name, namespace } = run.metadata;
  const shown = new Map<string, Promise<void>>();
  /** What is shown of a job before its current attempt. */
  const before = new Map<string, Promise<void>>();
  const showEarlier = (steps: readonly StepRun[]) => {
    for (const step of steps.filter(({ earlier, runName }) => earlier && !shown.has(runName))) {
      const next = (before.get(step.job) ?? Promise.resolve()).then(() => printer.show(step));
      before.set(step.job, next);
      shown.set(step.runName, next);
    }
  };
  const showCurrent = (workflowRun: WorkflowRun, used: UsedRuns) => {
    const { steps } = stepRuns(workflowRun, { runs: [], workflowRuns: [...used.values()] });
    for (const step of chosen(steps).filter(({ earlier, runName }) => !earlier && !shown.has(runName))) {
      shown.set(
        step.runName,
        (before.get(step.job) ?? Promise.resolve()).then(() => printer.show(step)),
      );
    }
  };
  showEarlier(begun);
  let latest = run;
  const used = new UsedRunsWatch(session, () => showCurrent(latest, used.runs()));
  const onChange = (next: WorkflowRun) => {
    latest = next;
    used.see(next);
    showCurrent(next, used.runs());
  };
  const until = ({ status }: WorkflowRun) => hasEnded(status?.phase);
  const deps = { client, clock: env.clock, random: env.random };
  try {
    const options = { until, onChange, signal: env.interrupted };
    const ended = await watchObject(workflowRuns, { name, namespace }, options, deps);
    if (ended !== undefined) {
      // The watches of those below may be behind, and an attempt may have come and gone between two sights.
      showEarlier(chosen((await readSteps(ended, session)).steps));
      showCurrent(ended, await readUsedRuns(ended, session));
    }
    await Promise.all(shown.values());
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
      tell(env, new CliError(`the output of ${label} cannot be shown: ${error.message}`));
      this.code = exitCodes.failed;
    }
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
