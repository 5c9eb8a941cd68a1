import { runs } from "#api/resources.ts";
import { timestamp } from "#api/time.ts";
import { fromStart, type RunLogOptions } from "#extension-api/client/logs.ts";
import { ItemWriter } from "../cluster/item-writer.ts";
import { kindCalled } from "../cluster/object-name.ts";
import { type ClusterFlags, withClusterOptions } from "../cluster/options.ts";
import { notBegun } from "../cluster/run-end.ts";
import { readLog } from "../cluster/run-logs.ts";
import { inCluster, type Session } from "../cluster/session.ts";
import { showWorkflowLogs } from "../cluster/workflow-logs.ts";
import type { Environment } from "../environment.ts";
import { CliError } from "../errors.ts";
import { exitCodes } from "../exit-codes.ts";
import { type AddCommand, duration, wholeNumber, withExamples } from "./command.ts";

interface Flags extends ClusterFlags {
  readonly follow?: true;
  readonly tail?: number;
  readonly attempt?: number;
  readonly since?: number;
  readonly sinceTime?: string;
  readonly timestamps?: true;
}

/** `krt logs NAME | workflowrun/NAME` */
export const addLogs: AddCommand = (parent, env, end) => {
  const command = parent
    .command("logs")
    .summary("show what a Run, or a whole workflow, printed")
    .description(
      "Shows what a Run printed: its standard output and, on standard error, its standard error. Of a workflow what all of " +
        "its steps printed, in all attempts of its jobs, each line with job and step before it.",
    )
    .argument("<NAME>", "name of a Run, or workflowrun/NAME")
    .option("-f, --follow", "go on until the end")
    .option("--tail <lines>", "only the newest lines, at most 500 (default: all)", wholeNumber(1, 500))
    .option("--attempt <number>", "only this attempt of the Run, or of each job of the workflow", wholeNumber(1))
    .option("--since <duration>", "only what is not older, e.g. 10m", duration)
    .option("--since-time <time>", "only what is not older, e.g. 2026-01-31T12:00:00Z")
    .option("--timestamps", "begin each line with its time")
    .action(async (name: string, flags: Flags) => {
      const { timestamps = false } = flags;
      const options = optionsOf(flags, env);
      const { kind, name: object } = parseTarget(name);
      const code = await inCluster(flags, env, async (session) => {
        if (kind === "WorkflowRun") return showWorkflowLogs(object, options, timestamps, session);
        if (flags.follow) await tellNotBegun(object, true, session);
        let isEmpty = true;
        {
          using writer = new ItemWriter(env, timestamps);
          for await (const item of await readLog(object, options, session, env.interrupted)) {
            if (env.interrupted.aborted) break;
            isEmpty = false;
            writer.write(item);
          }
        }
        if (isEmpty && !flags.follow) await tellNotBegun(object, false, session);
        return exitCodes.succeeded;
      });
      end(env.interrupted.aborted ? exitCodes.interrupted : code);
    });
  withExamples(withClusterOptions(command), env, "logs", [
    ["All of it, and what comes", "logs hello -f"],
    ["The last lines of the second attempt", "logs hello --attempt 2 --tail 20"],
    ["All steps of a workflow, while it runs", "logs -f workflowrun/release-x7k2p"],
  ]);
};

/** Nobody has to guess why a Run that has not begun printed nothing. */
async function tellNotBegun(name: string, follow: boolean, { client, namespace, env }: Session): Promise<void> {
  // Who may not look at Runs may still read logs, and what is wrong otherwise the log tells.
  const run = await client
    .of(runs)
    .get({ name, namespace })
    .catch(() => undefined);
  // Who follows a Run that is about to begin will see it begin.
  const why = run === undefined || (follow && run.status?.reason === undefined) ? undefined : notBegun(run);
  if (why !== undefined) env.err.write(`krt: Run ${name} ${why}\n`);
}

function optionsOf({ follow, tail, attempt, since, sinceTime }: Flags, { clock }: Environment): RunLogOptions {
  if (since !== undefined && sinceTime !== undefined) {
    throw new CliError("--since and --since-time exclude each other", { advice: "Write one of them." });
  }
  const from = since === undefined ? sinceTime : timestamp(clock.now() - since);
  const place = tail === undefined ? { cursor: fromStart } : { tailLines: tail };
  return { ...place, follow, attempt, sinceTime: from };
}

function parseTarget(text: string): { readonly kind: "Run" | "WorkflowRun"; readonly name: string } {
  const slash = text.indexOf("/");
  if (slash < 0) return { kind: "Run", name: text };
  const kind = kindCalled(text.slice(0, slash));
  const name = text.slice(slash + 1);
  if ((kind === "Run" || kind === "WorkflowRun") && name !== "") return { kind, name };
  throw new CliError(`${text} names neither a Run nor a WorkflowRun`, { advice: "Write NAME or workflowrun/NAME." });
}
