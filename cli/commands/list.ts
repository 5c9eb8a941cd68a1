import { runs } from "#api/resources.ts";
import { type ClusterFlags, withClusterOptions } from "../cluster/options.ts";
import { inCluster } from "../cluster/session.ts";
import { exitCodes } from "../exit-codes.ts";
import { formatHelp, parseFormat } from "../output/format.ts";
import { type AddCommand, withExamples } from "./command.ts";
import { type RunFilters, runFieldSelector } from "./list-options.ts";
import { showList } from "./show-list.ts";

interface Flags extends ClusterFlags, RunFilters {
  readonly allNamespaces?: true;
  readonly selector?: string;
  readonly output?: string;
}

/** `krt list` */
export const addList: AddCommand = (parent, env, end) => {
  const command = parent
    .command("list")
    .alias("ls")
    .summary("list Runs")
    .description("Lists Runs. The server picks them, so that long lists stay quick.")
    .option("-A, --all-namespaces", "of all namespaces")
    .option("--phase <phases>", "only of these phases, e.g. Failed,Timeout")
    .option("-r, --runtime <name>", "only of this Runtime")
    .option("-l, --selector <labels>", "only with these labels, e.g. team=web,tier!=test")
    .option("-o, --output <format>", formatHelp)
    .action(async (flags: Flags) => {
      const format = parseFormat(flags.output);
      const fieldSelector = runFieldSelector(flags);
      const options = {
        format,
        fieldSelector,
        labelSelector: flags.selector,
        allNamespaces: flags.allNamespaces === true,
      };
      await inCluster(flags, env, (session) => showList(runs, options, session));
      end(exitCodes.succeeded);
    });
  withExamples(withClusterOptions(command), env, "list", [
    ["What failed, in all namespaces", "list -A --phase Failed,Timeout"],
    ["The Runs of one Runtime with Pod, attempt, duration and message", "list -r bash -o wide"],
    ["Names for another program", "ls --phase Running -o name"],
  ]);
};
