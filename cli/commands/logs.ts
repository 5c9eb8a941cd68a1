import { fromStart } from "#extension-api/client/logs.ts";
import { type ClusterFlags, withClusterOptions } from "../cluster/options.ts";
import { readLog, writeItem } from "../cluster/run-logs.ts";
import { inCluster } from "../cluster/session.ts";
import { exitCodes } from "../exit-codes.ts";
import { type AddCommand, wholeNumber, withExamples } from "./command.ts";

interface Flags extends ClusterFlags {
  readonly follow?: true;
  readonly tail?: number;
  readonly attempt?: number;
  readonly sinceTime?: string;
  readonly timestamps?: true;
}

/** `krt logs NAME` */
export const addLogs: AddCommand = (parent, env, end) => {
  const command = parent
    .command("logs")
    .summary("show what a Run printed")
    .description("Shows what a Run printed: its standard output and, on standard error, its standard error.")
    .argument("<NAME>", "name of a Run")
    .option("-f, --follow", "go on until the Run has ended")
    .option("--tail <lines>", "only the newest lines, at most 500 (default: all)", wholeNumber(1))
    .option("--attempt <number>", "only this attempt", wholeNumber(1))
    .option("--since-time <time>", "only what is not older, e.g. 2026-01-31T12:00:00Z")
    .option("--timestamps", "begin each line with its time")
    .action(async (name: string, flags: Flags) => {
      const { follow, tail, attempt, sinceTime, timestamps = false } = flags;
      const place = tail === undefined ? { cursor: fromStart } : { tailLines: tail };
      const options = { ...place, follow, attempt, sinceTime };
      await inCluster(flags, env, async (session) => {
        for await (const item of await readLog(name, options, session, env.interrupted)) {
          if (env.interrupted.aborted) break;
          writeItem(item, env, timestamps);
        }
      });
      end(env.interrupted.aborted ? exitCodes.interrupted : exitCodes.succeeded);
    });
  withExamples(withClusterOptions(command), env, "logs", [
    ["All of it, and what comes", "logs hello -f"],
    ["The last lines of the second attempt", "logs hello --attempt 2 --tail 20"],
  ]);
};
