import type { WorkflowActionSpec, WorkflowActionVerb } from "#api/kinds/workflow-action.ts";
import type { WorkflowRun } from "#api/kinds/workflow-run.ts";
import { workflowRuns } from "#api/resources.ts";
import { hasEnded } from "#api/workflow-phases.ts";
import { listAll } from "#kube/client.ts";
import { ActionError, performAction } from "#workflows/action-request.ts";
import { clusterError, nameAdvice } from "../cluster/errors.ts";
import { type ClusterFlags, withClusterOptions } from "../cluster/options.ts";
import { adviceFor } from "../cluster/run-end.ts";
import { inCluster, type Session } from "../cluster/session.ts";
import { forEachName } from "../cluster/several.ts";
import { CliError } from "../errors.ts";
import { type ExitCode, exitCodes } from "../exit-codes.ts";
import { type Format, formatHelp, parseFormat, show } from "../output/format.ts";
import { type AddCommand, duration, pairs, withExamples } from "./command.ts";

interface Flags extends ClusterFlags {
  readonly selector?: string;
  readonly all?: true;
  readonly nodeFieldSelector?: string;
  readonly setOutput?: Readonly<Record<string, string>>;
  readonly message?: string;
  readonly restartSuccessful?: true;
  readonly set?: Readonly<Record<string, string>>;
  readonly timeout?: number;
  readonly wait: boolean;
  readonly output?: string;
}

interface Verb {
  readonly action: WorkflowActionVerb;
  readonly summary: string;
  readonly description: string;
  readonly options: readonly ("nodes" | "outputs" | "message" | "retry")[];
  /** Whether --all and --selector mean this run. */
  readonly concerns: (run: WorkflowRun) => boolean;
  readonly examples: readonly (readonly [what: string, line: string])[];
}

const goesOn = ({ status }: WorkflowRun) => !hasEnded(status?.phase);

const verbs: readonly Verb[] = [
  {
    action: "Suspend",
    summary: "suspend WorkflowRuns",
    description: "Suspends WorkflowRuns: what runs goes on, nothing new is started.",
    options: [],
    concerns: goesOn,
    examples: [["Two runs", "workflow suspend ci-x7k2p ci-9ddk4"]],
  },
  {
    action: "Resume",
    summary: "resume WorkflowRuns, or gates of them",
    description:
      "Resumes WorkflowRuns: a suspended one goes on, and gates that wait open. With --node-field-selector only those gates open.",
    options: ["nodes", "outputs"],
    concerns: goesOn,
    examples: [
      ["A suspended run, and all its gates", "workflow resume ci-x7k2p"],
      [
        "One gate, with its output",
        "workflow resume ci-x7k2p --node-field-selector name=deploy/approve --set-output ok=yes",
      ],
    ],
  },
  {
    action: "Stop",
    summary: "stop WorkflowRuns, or gates of them",
    description:
      "Stops WorkflowRuns: what runs is ended, and jobs that clean up still run. With --node-field-selector those gates fail instead.",
    options: ["nodes", "message"],
    concerns: goesOn,
    examples: [
      ["One run", "workflow stop ci-x7k2p --message 'wrong branch'"],
      ["All runs of a label", "workflow stop -l branch=old"],
    ],
  },
  {
    action: "Terminate",
    summary: "terminate WorkflowRuns",
    description: "Terminates WorkflowRuns: everything is ended, jobs that clean up do not run.",
    options: [],
    concerns: goesOn,
    examples: [["One run", "workflow terminate ci-x7k2p"]],
  },
  {
    action: "Retry",
    summary: "retry WorkflowRuns that have ended",
    description:
      "Retries WorkflowRuns: jobs that failed, were ended or never ran get another attempt, and so does what waits for them. With --set so does what uses these inputs. --node-field-selector means only some of these jobs.",
    options: ["nodes", "retry"],
    concerns: ({ status }) => status?.phase === "Failed",
    examples: [
      ["What has failed", "workflow retry ci-x7k2p"],
      ["With another value of an input", "workflow retry ci-x7k2p --set region=south"],
      [
        "A job that succeeded, and all behind it",
        "workflow retry ci-x7k2p --restart-successful --node-field-selector job=build",
      ],
    ],
  },
];

const codeHelp = `
Exit codes:
    0  done
    1  refused
    2  there is no such WorkflowRun, or the command line is wrong
    3  accepted, and not answered within --timeout`;

/** `krt workflow suspend|resume|stop|terminate|retry NAME...` */
export const addWorkflowActions: AddCommand = (parent, env, end) => {
  for (const verb of verbs) {
    const word = verb.action.toLowerCase();
    const command = parent
      .command(word)
      .summary(verb.summary)
      .description(verb.description)
      .argument("[NAME...]", "names of WorkflowRuns")
      .option("-l, --selector <labels>", "those with these labels")
      .option("--all", "all of the namespace")
      .option("--timeout <duration>", "how long to wait for the answer (default: 30s)", duration)
      .option("--no-wait", "do not wait for the answer: only the right to create WorkflowActions is needed")
      .option("-o, --output <format>", `the WorkflowRuns afterwards: ${formatHelp}`);
    if (verb.options.includes("nodes")) {
      command.option(
        "--node-field-selector <selector>",
        verb.options.includes("retry")
          ? "only these jobs, e.g. job=deploy"
          : "only these gates, e.g. name=deploy/approve",
      );
    }
    if (verb.options.includes("outputs")) {
      command.option("--set-output <name=value>", "output of the gates; may be given several times", pairs);
    }
    if (verb.options.includes("retry")) {
      command.option("--restart-successful", "also jobs that succeeded");
      command.option("--set <name=value>", "another value for an input; may be given several times", pairs);
    }
    if (verb.options.includes("message")) command.option("--message <text>", "why, for people");
    command.action(async (names: string[], flags: Flags) => {
      const format = flags.output === undefined ? undefined : parseFormat(flags.output);
      end(
        await inCluster(flags, env, async (session) =>
          act(verb, await chosen(verb, names, flags, session), flags, format, session),
        ),
      );
    });
    withExamples(withClusterOptions(command), env, `workflow ${word}`, verb.examples);
    command.addHelpText("after", codeHelp);
  }
};

async function chosen(
  { action, concerns }: Verb,
  names: readonly string[],
  { selector: labelSelector, all }: Flags,
  { client, namespace }: Session,
): Promise<readonly string[]> {
  const ways = [names.length > 0, labelSelector !== undefined, all === true].filter(Boolean).length;
  if (ways !== 1) {
    throw new CliError(
      ways === 0 ? `nothing to ${action.toLowerCase()} is named` : "names, --selector and --all exclude each other",
      {
        advice: "Write names, or --selector, or --all.",
      },
    );
  }
  if (names.length > 0) return names;
  const { items } = await listAll(client.of(workflowRuns), { namespace, labelSelector });
  const found = items.filter(concerns).map(({ metadata }) => metadata.name);
  if (found.length === 0) {
    throw new CliError(`there is no WorkflowRun in namespace ${namespace} to ${action.toLowerCase()}`, {
      exitCode: exitCodes.usage,
      advice: "Nothing was done.",
    });
  }
  return found;
}

async function act(
  { action }: Verb,
  names: readonly string[],
  flags: Flags,
  format: Format | undefined,
  session: Session,
): Promise<ExitCode> {
  const { client, namespace, env } = session;
  const { clock, random, interrupted: signal } = env;
  const parameters = parametersOf(action, flags);
  const after: WorkflowRun[] = [];
  const code = await forEachName(workflowRuns, names, session, async (name) => {
    try {
      const request = { namespace, name, action, ...(parameters && { parameters }) };
      const options = { wait: flags.wait, signal, ...(flags.timeout !== undefined && { timeoutMs: flags.timeout }) };
      const done = await performAction(request, { client, clock, random }, options);
      if (done.run !== undefined) after.push(done.run);
      if (format === undefined) env.out.write(`${told(done.action)}\n`);
      return undefined;
    } catch (error) {
      throw error instanceof ActionError
        ? await refusal(name, action, error, session)
        : await refusedAtOnce(error, session);
    }
  });
  if (format !== undefined && after.length > 0) {
    env.out.write(await show(after, { resource: workflowRuns, format, now: clock.now(), list: names.length > 1 }));
  }
  return code;
}

function told({
  metadata,
  spec,
  status,
}: {
  metadata: { name: string };
  spec: WorkflowActionSpec;
  status?: { message?: string };
}): string {
  const what = status?.message ?? `${spec.action} of WorkflowRun ${spec.workflowRef.name} is asked for`;
  return `${what} (WorkflowAction ${metadata.name})`;
}

function parametersOf(action: WorkflowActionVerb, flags: Flags): Partial<WorkflowActionSpec> | undefined {
  const { nodeFieldSelector, setOutput, message } = flags;
  const nodes = nodeFieldSelector === undefined ? {} : { nodeFieldSelector };
  if (setOutput !== undefined && nodeFieldSelector === undefined) {
    throw new CliError("--set-output needs --node-field-selector", { advice: "Say which gates get the output." });
  }
  if (action === "Resume" && nodeFieldSelector !== undefined) {
    return { resume: { ...nodes, ...(setOutput && { outputParameters: { ...setOutput } }) } };
  }
  if (action === "Stop" && (nodeFieldSelector !== undefined || message !== undefined)) {
    return { stop: { ...nodes, ...(message !== undefined && { message }) } };
  }
  const { restartSuccessful, set: inputs } = flags;
  if (restartSuccessful && nodeFieldSelector === undefined) {
    throw new CliError("--restart-successful needs --node-field-selector", { advice: "Say which jobs run again." });
  }
  if (action === "Retry" && (nodeFieldSelector !== undefined || restartSuccessful || inputs !== undefined)) {
    return { retry: { ...nodes, ...(restartSuccessful && { restartSuccessful }), ...(inputs && { inputs }) } };
  }
  return undefined;
}

/** What admission says of an action is a refusal like any other; code 2 would mean that there is no such WorkflowRun. */
async function refusedAtOnce(thrown: unknown, session: Session): Promise<unknown> {
  const error = await clusterError(thrown, session);
  if (!(error instanceof CliError) || error.exitCode !== exitCodes.usage) return error;
  const { message, details, cause } = error;
  return new CliError(message, { details, cause, exitCode: exitCodes.failed });
}

const exitCodeOf: Readonly<Record<ActionError["code"], ExitCode>> = {
  InvalidArgument: exitCodes.failed,
  FailedPrecondition: exitCodes.failed,
  PermissionDenied: exitCodes.failed,
  NotFound: exitCodes.usage,
  DeadlineExceeded: exitCodes.timeout,
  Cancelled: exitCodes.interrupted,
};

async function refusal(
  name: string,
  verb: WorkflowActionVerb,
  error: ActionError,
  session: Session,
): Promise<CliError> {
  const { code, reason, action } = error;
  const which = action === undefined ? "" : ` (WorkflowAction ${action})`;
  const why = [reason, error.message].filter(Boolean).join(": ");
  const advice =
    code === "PermissionDenied"
      ? "Use --no-wait, or ask for the rights get and watch on workflowactions."
      : code === "NotFound"
        ? await nameAdvice(workflowRuns, name, session)
        : filledIn(adviceFor(reason), name, error.message);
  return new CliError(`${verb} of ${name}: ${why}${which}`, {
    exitCode: exitCodeOf[code],
    cause: error,
    ...(advice !== undefined && { advice }),
  });
}

/** The advice as a line that can be pasted, as far as the refusal tells what belongs into it. */
function filledIn(advice: string | undefined, run: string, message: string): string | undefined {
  const gate = /^gate ([^\s:]+)/.exec(message)?.[1];
  const output = /(?:needs|option of) the output "([^"]+)"/.exec(message)?.[1];
  return advice
    ?.replace("NAME", run)
    .replace("JOB/STEP", gate ?? "JOB/STEP")
    .replace("OUTPUT", output ?? "OUTPUT");
}
