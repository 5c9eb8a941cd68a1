import type { WorkflowRun } from "#api/kinds/workflow-run.ts";
import { workflowRuns } from "#api/resources.ts";
import { hasEnded } from "#api/workflow-phases.ts";
import type { LogItem, RunLogOptions } from "#extension-api/client/logs.ts";
import { DeletedError, watchObject } from "#kube/watch-object.ts";
import { type Paint, paint } from "#workflows/text.ts";
import { stepRuns, type UsedRuns } from "#workflows/used-runs.ts";
import { CliError } from "../errors.ts";
import { type ExitCode, exitCodes } from "../exit-codes.ts";
import { stepLabel } from "../progress/label.ts";
import { recordText, separator, terminalText } from "../progress/log-line.ts";
import { clusterError } from "./errors.ts";
import { orderOf } from "./follow-workflow.ts";
import { readLog } from "./run-logs.ts";
import type { Session } from "./session.ts";
import { tell } from "./several.ts";
import { readUsedRuns, UsedRunsWatch } from "./used-runs.ts";

/** One step that has begun. */
interface Step {
  readonly run: string;
  readonly label: string;
}

/** Labels take turns in these, so that steps that print at the same time are told apart. */
const colors: readonly Paint[] = ["cyan", "yellow", "green", "magenta", "blue"];

/**
 * Shows what the steps of a WorkflowRun printed, each line with its job and step before it: one after the other in the order of the
 * jobs or, while it is followed, as they print.
 *
 * @returns 1 when the output of a step cannot be shown
 */
export async function showWorkflowLogs(
  name: string,
  options: RunLogOptions,
  timestamps: boolean,
  session: Session,
): Promise<ExitCode> {
  const { client, namespace, env } = session;
  const printer = new Printer(options, timestamps, session);
  if (!options.follow) {
    const run = await client.of(workflowRuns).get({ name, namespace });
    const [order, used] = [await orderOf(run, session), await readUsedRuns(run, session)];
    for (const step of stepsOf(run, used, order)) await printer.show(step);
    return printer.code;
  }
  const streams = new Map<string, Promise<void>>();
  const begin = (run: WorkflowRun, known: UsedRuns) => {
    for (const step of stepsOf(run, known)) {
      if (!streams.has(step.run)) streams.set(step.run, printer.show(step));
    }
  };
  let latest: WorkflowRun | undefined;
  const used = new UsedRunsWatch(session, () => latest && begin(latest, used.runs()));
  const onChange = (run: WorkflowRun) => {
    latest = run;
    used.see(run);
    begin(run, used.runs());
  };
  const until = ({ status }: WorkflowRun) => hasEnded(status?.phase);
  const deps = { client, clock: env.clock, random: env.random };
  try {
    const options = { until, onChange, signal: env.interrupted };
    const ended = await watchObject(workflowRuns, { name, namespace }, options, deps);
    // The watches of those below may be behind.
    if (ended !== undefined) begin(ended, await readUsedRuns(ended, session));
    await Promise.all(streams.values());
  } catch (error) {
    if (!(error instanceof DeletedError)) throw error;
    throw new CliError(error.message, { exitCode: exitCodes.failed, advice: "What is deleted has no log." });
  } finally {
    used.stop();
  }
  return printer.code;
}

function stepsOf(run: WorkflowRun, used: UsedRuns, order?: readonly string[]): Step[] {
  return [...stepRuns(run, used, order)].map(({ runName, path }) => ({
    run: runName,
    label: stepLabel(run.metadata.name, path, false),
  }));
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

  async show({ run, label }: Step): Promise<void> {
    const { env } = this.#session;
    const color = colors[this.#shown++ % colors.length] ?? "cyan";
    try {
      for await (const item of await readLog(run, this.#options, this.#session, env.interrupted)) {
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
