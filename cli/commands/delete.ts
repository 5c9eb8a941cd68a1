import { runs } from "#api/resources.ts";
import { listAll } from "#kube/client.ts";
import { type ClusterFlags, withClusterOptions } from "../cluster/options.ts";
import { inCluster, type Session } from "../cluster/session.ts";
import { forEachName } from "../cluster/several.ts";
import { CliError } from "../errors.ts";
import type { ExitCode } from "../exit-codes.ts";
import { type AddCommand, withExamples } from "./command.ts";
import { type RunFilters, runFieldSelector } from "./list-options.ts";

interface Flags extends ClusterFlags, RunFilters {
  readonly selector?: string;
}

/** `krt delete NAME...` */
export const addDelete: AddCommand = (parent, env, end) => {
  const command = parent
    .command("delete")
    .summary("delete Runs")
    .description("Deletes Runs, by name or by what they have in common. What still runs is ended first.")
    .argument("[NAME...]", "names of Runs")
    .option("-l, --selector <labels>", "those with these labels")
    .option("--phase <phases>", "those of these phases, e.g. Succeeded")
    .option("-r, --runtime <name>", "those of this Runtime")
    .action(async (names: string[], flags: Flags) => {
      end(await inCluster(flags, env, async (session) => deleteRuns(await chosen(names, flags, session), session)));
    });
  withExamples(withClusterOptions(command), env, "delete", [
    ["One Run", "delete hello"],
    ["Everything that went well", "delete --phase Succeeded"],
  ]);
};

async function chosen(
  names: readonly string[],
  flags: Flags,
  { client, namespace }: Session,
): Promise<readonly string[]> {
  const fieldSelector = runFieldSelector(flags);
  const { selector: labelSelector } = flags;
  const isFiltered = fieldSelector !== undefined || labelSelector !== undefined;
  if (names.length > 0 && isFiltered) {
    throw new CliError("names and filters exclude each other", {
      advice: "Write the names, or --selector, --phase, --runtime.",
    });
  }
  if (names.length > 0) return names;
  if (!isFiltered) {
    throw new CliError("nothing to delete is named", { advice: "Write names, or --selector, --phase or --runtime." });
  }
  const list = await listAll(client.of(runs), { namespace, fieldSelector, labelSelector });
  if (list.items.length === 0) {
    throw new CliError(`there is no Run like that in namespace ${namespace}`, { advice: "Nothing was deleted." });
  }
  return list.items.map(({ metadata }) => metadata.name);
}

function deleteRuns(names: readonly string[], session: Session): Promise<ExitCode> {
  const { client, namespace, env } = session;
  return forEachName(runs, names, session, async (name) => {
    await client.of(runs).delete({ name, namespace });
    env.out.write(`Run ${name} deleted\n`);
    return undefined;
  });
}
