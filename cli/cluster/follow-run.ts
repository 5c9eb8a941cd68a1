import type { Run } from "#api/kinds/run.ts";
import { runs } from "#api/resources.ts";
import { fromStart } from "#extension-api/client/logs.ts";
import { StatusError } from "#kube/transport.ts";
import { DeletedError, watchObject } from "#kube/watch-object.ts";
import { cancelRun } from "../commands/cancel.ts";
import { CliError } from "../errors.ts";
import { type ExitCode, exitCodes } from "../exit-codes.ts";
import { clusterError } from "./errors.ts";
import { onInterrupt } from "./interrupt.ts";
import { ItemWriter } from "./item-writer.ts";
import { adviceFor, endOf, exitCodeOf, hasEnded } from "./run-end.ts";
import { readLog } from "./run-logs.ts";
import type { Session } from "./session.ts";
import { tell } from "./several.ts";

/** Shows what a Run prints until it has ended. @returns what `krt run` exits with */
export async function followRun(run: Run, session: Session): Promise<ExitCode> {
  const { env, namespace } = session;
  const { name } = run.metadata;
  const leaving = new AbortController();
  const ending = {
    what: `Run ${name}`,
    verb: ["Cancel", "Cancelling"] as const,
    end: () => cancelRun(name, undefined, session),
  };
  const stopAsking = onInterrupt(ending, session, leaving);
  const output = showOutput(name, session, leaving.signal);
  try {
    let told: string | undefined;
    const ended = await watchObject(
      runs,
      { name, namespace },
      {
        until: hasEnded,
        signal: leaving.signal,
        onChange({ status }) {
          const why = status?.phase === "Pending" ? status.reason : undefined;
          if (why !== undefined && why !== told) env.err.write(`Run ${name} waits: ${why}: ${status?.message ?? ""}\n`);
          told = why;
        },
      },
      { client: session.client, clock: env.clock, random: env.random },
    );
    await output;
    if (ended === undefined) {
      env.err.write(`Run ${name} goes on; \`${env.invokedAs} logs -f ${name}\` shows its output\n`);
      return exitCodes.interrupted;
    }
    if (ended.status?.phase !== "Succeeded") {
      const advice = ended.status?.reason === "ExitNonZero" ? undefined : adviceFor(ended.status?.reason);
      tell(env, new CliError(`Run ${name} ${endOf(ended)}`, advice === undefined ? {} : { advice }));
    }
    return exitCodeOf(ended);
  } catch (error) {
    if (!(error instanceof DeletedError)) throw error;
    throw new CliError(error.message, { exitCode: exitCodes.noExitCode, advice: "Somebody else deleted it." });
  } finally {
    leaving.abort();
    stopAsking();
  }
}

/** A log that cannot be read is told, but the Run is what counts. */
async function showOutput(name: string, session: Session, signal: AbortSignal): Promise<void> {
  try {
    const options = { follow: true, cursor: fromStart };
    using writer = new ItemWriter(session.env);
    for await (const item of await readLog(name, options, session, signal)) writer.write(item);
  } catch (thrown) {
    if (signal.aborted) return;
    // Of a Run that was deleted the watch tells.
    const answer = thrown instanceof CliError ? thrown.cause : thrown;
    if (answer instanceof StatusError && answer.code === 404) return;
    const error = await clusterError(thrown, session);
    session.env.err.write(
      `krt: the output of Run ${name} cannot be shown: ${error instanceof Error ? error.message : error}\n`,
    );
  }
}
