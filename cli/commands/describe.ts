import type { Run } from "#api/kinds/run.ts";
import { runs } from "#api/resources.ts";
import { type Event, events } from "#kube/builtin.ts";
import { type ClusterFlags, withClusterOptions } from "../cluster/options.ts";
import { inCluster, type Session } from "../cluster/session.ts";
import { forEachName } from "../cluster/several.ts";
import { describeRun } from "../output/describe-run.ts";
import { type AddCommand, withExamples } from "./command.ts";

/** `krt describe NAME...` */
export const addDescribe: AddCommand = (parent, env, end) => {
  const command = parent
    .command("describe")
    .summary("tell everything about Runs")
    .description("Tells what a Run is, how it stands and why, what to do about it, and what happened to it.")
    .argument("<NAME...>", "names of Runs")
    .action(async (names: string[], flags: ClusterFlags) => {
      end(
        await inCluster(flags, env, (session) => {
          let first = true;
          return forEachName(runs, names, session, async (name) => {
            const run = await session.client.of(runs).get({ name, namespace: session.namespace });
            const lines = describeRun(run, await eventsOf(run, session), env.clock.now());
            env.out.write(`${first ? "" : "\n"}${lines.map((line) => `${line}\n`).join("")}`);
            first = false;
            return undefined;
          });
        }),
      );
    });
  withExamples(withClusterOptions(command), env, "describe", [["Why does it not start?", "describe hello"]]);
};

/** Events are an extra: who may not read them gets the rest. */
async function eventsOf(run: Run, { client, namespace }: Session): Promise<readonly Event[]> {
  try {
    const list = await client.of(events).list({ namespace, fieldSelector: `regarding.uid=${run.metadata.uid}` });
    return list.items;
  } catch {
    return [];
  }
}
