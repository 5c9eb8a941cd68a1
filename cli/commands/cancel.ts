import type { Run } from "#api/kinds/run.ts";
import { runs } from "#api/resources.ts";
import { type ClusterFlags, withClusterOptions } from "../cluster/options.ts";
import { endOf, hasEnded } from "../cluster/run-end.ts";
import { inCluster, type Session } from "../cluster/session.ts";
import { forEachName } from "../cluster/several.ts";
import { type AddCommand, withExamples } from "./command.ts";

interface Flags extends ClusterFlags {
  readonly message?: string;
}

/** `krt cancel NAME...` */
export const addCancel: AddCommand = (parent, env, end) => {
  const command = parent
    .command("cancel")
    .summary("cancel Runs")
    .description("Asks Runs to end: what has not started never does, what runs is ended. It cannot be taken back.")
    .argument("<NAME...>", "names of Runs")
    .option("--message <text>", "why, for people")
    .action(async (names: string[], flags: Flags) => {
      const cancelOne = (session: Session) => async (name: string) => {
        const run = await cancelRun(name, flags.message, session);
        env.out.write(
          hasEnded(run) ? `Run ${name} had ended before: it ${endOf(run)}\n` : `Run ${name} is asked to end\n`,
        );
        return undefined;
      };
      end(await inCluster(flags, env, (session) => forEachName(runs, names, session, cancelOne(session))));
    });
  withExamples(withClusterOptions(command), env, "cancel", [
    ["Two Runs, with a reason", 'cancel a b --message "wrong input"'],
  ]);
};

/** Asks a Run to end. @returns the Run; one that had ended is left as it is */
export async function cancelRun(name: string, message: string | undefined, session: Session): Promise<Run> {
  const client = session.client.of(runs);
  const ref = { name, namespace: session.namespace };
  const run = await client.get(ref);
  if (hasEnded(run)) return run;
  const termination = { mode: "Immediate", ...(message === undefined ? {} : { message }) };
  return client.patch(ref, { spec: { termination } });
}
