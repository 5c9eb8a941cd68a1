import { formatDuration } from "#api/duration.ts";
import { runs } from "#api/resources.ts";
import { DeletedError, watchObject } from "#kube/watch-object.ts";
import { type ClusterFlags, withClusterOptions } from "../cluster/options.ts";
import { adviceFor, endOf, hasEnded } from "../cluster/run-end.ts";
import { inCluster, type Session } from "../cluster/session.ts";
import { forEachName } from "../cluster/several.ts";
import { CliError } from "../errors.ts";
import { type ExitCode, exitCodes } from "../exit-codes.ts";
import { type AddCommand, duration, withExamples } from "./command.ts";

interface Flags extends ClusterFlags {
  readonly timeout?: number;
}

/** `krt wait NAME...` */
export const addWait: AddCommand = (parent, env, end) => {
  const command = parent
    .command("wait")
    .summary("wait until Runs have ended")
    .description("Waits until all of these Runs have ended, and fails when one did not succeed, or was deleted.")
    .argument("<NAME...>", "names of Runs")
    .option("--timeout <duration>", "longest time for all of them, e.g. 90s (default: no limit)", duration)
    .action(async (names: string[], flags: Flags) => {
      end(await inCluster(flags, env, (session) => waitForRuns(names, flags.timeout, session)));
    });
  withExamples(withClusterOptions(command), env, "wait", [
    ["Not longer than five minutes", "wait build test --timeout 5m"],
  ]);
};

async function waitForRuns(
  names: readonly string[],
  timeoutMs: number | undefined,
  session: Session,
): Promise<ExitCode> {
  const { env, namespace, client } = session;
  const late = new AbortController();
  const cancel = timeoutMs === undefined ? () => {} : env.clock.after(timeoutMs, () => late.abort());
  const signal = AbortSignal.any([late.signal, env.interrupted]);
  try {
    return await forEachName(runs, names, session, async (name) => {
      const run = await watchObject(
        runs,
        { name, namespace },
        { until: hasEnded, signal },
        { client, clock: env.clock, random: env.random },
      ).catch((error: unknown) => {
        if (!(error instanceof DeletedError)) throw error;
        throw new CliError(error.message, { exitCode: exitCodes.failed, advice: "What is deleted never ends." });
      });
      if (run === undefined && env.interrupted.aborted) return exitCodes.interrupted;
      if (run === undefined) {
        throw new CliError(`Run ${name} had not ended after ${formatDuration(timeoutMs ?? 0)}`, {
          advice: `\`${env.invokedAs} describe ${name}\` tells what it waits for.`,
          exitCode: exitCodes.timeout,
        });
      }
      if (run.status?.phase === "Succeeded") {
        env.out.write(`Run ${name} ${endOf(run)}\n`);
        return undefined;
      }
      const advice = adviceFor(run.status?.reason);
      throw new CliError(`Run ${name} ${endOf(run)}`, {
        exitCode: exitCodes.failed,
        ...(advice === undefined ? {} : { advice }),
      });
    });
  } finally {
    cancel();
  }
}
