import { formatDuration } from "#api/duration.ts";
import type { Run } from "#api/kinds/run.ts";
import { followRun } from "../cluster/follow-run.ts";
import { type ClusterFlags, withClusterOptions } from "../cluster/options.ts";
import { inCluster } from "../cluster/session.ts";
import { submitRun } from "../cluster/submit-run.ts";
import { CliError } from "../errors.ts";
import { exitCodes } from "../exit-codes.ts";
import { type AddCommand, duration, pairs, wholeNumber, withExamples } from "./command.ts";

interface Flags extends ClusterFlags {
  readonly runtime: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly timeout?: number;
  readonly retries?: number;
  readonly file?: string;
  readonly name?: string;
  readonly detach?: true;
}

/** `krt run` */
export const addRun: AddCommand = (parent, env, end) => {
  const command = parent
    .command("run")
    .summary("run a command or a script, and show what it prints")
    .description(
      "Runs a command or a script on a warm Pod, shows what it prints while it runs, and ends with its exit code. " +
        "Ctrl-C asks whether to cancel it; another Ctrl-C is a yes.",
    )
    .argument("[COMMAND...]", "command with its arguments, behind --; with --file the arguments of the script")
    .option("-r, --runtime <name>", "Runtime that runs it", "bash")
    .option("--file <file>", "script to run; - reads standard input")
    .option("--env <name=value>", "variable of the program; may be given several times", pairs)
    .option("--timeout <duration>", "longest time of one attempt, e.g. 90s", duration)
    .option("--retries <number>", "how often it is tried again when it fails (default: 0)", wholeNumber(0))
    .option("--name <name>", "name of the Run (default: the server makes one up)")
    .option("-d, --detach", "print the name and leave it running")
    .passThroughOptions()
    .action(async (args: string[], flags: Flags) => {
      const script =
        flags.file === undefined
          ? undefined
          : await (await import("../manifests/read.ts")).readText(flags.file, env.files);
      const run = runOf(args, script, flags);
      end(
        await inCluster(flags, env, async (session) => {
          const created = await submitRun(run, session);
          if (flags.detach) env.out.write(`${created.metadata.name}\n`);
          return flags.detach ? exitCodes.succeeded : followRun(created, session);
        }),
      );
    });
  withExamples(withClusterOptions(command), env, "run", [
    ["A command", "run -- echo hello"],
    [
      "A script on another Runtime, with a variable and a limit",
      "run -r python --file train.py --env EPOCHS=3 --timeout 10m",
    ],
    ["From standard input, in the background", "run --file - -d < job.sh"],
  ]);
};

/** The Run that the flags describe. @throws CliError when there is no program */
export function runOf(args: readonly string[], script: string | undefined, flags: Flags): Run {
  if (script === undefined && args.length === 0) {
    throw new CliError("there is nothing to run", { advice: "Write a command behind --, or a script with --file." });
  }
  if (script?.trim() === "") throw new CliError(`${flags.file} is empty`, { advice: "Write a script into it." });
  const { env, timeout, retries = 0, runtime, name } = flags;
  const metadata = name === undefined ? { generateName: "run-" } : { name };
  return {
    // `name` is the server's to give; our types want it of every object that was read.
    metadata: metadata as Run["metadata"],
    spec: {
      runtime,
      ...(script === undefined ? {} : { source: { inline: script } }),
      ...(args.length === 0 ? {} : { mode: { task: { args: [...args] } } }),
      ...(env === undefined ? {} : { env: Object.entries(env).map(([key, value]) => ({ name: key, value })) }),
      ...(timeout === undefined ? {} : { timeout: formatDuration(timeout) }),
      ...(retries === 0 ? {} : { retryPolicy: { maxAttempts: retries + 1 } }),
    },
  };
}
