import { Option } from "commander";
import { runs } from "#api/resources.ts";
import { type ClusterFlags, withClusterOptions } from "../cluster/options.ts";
import { inCluster } from "../cluster/session.ts";
import { CliError } from "../errors.ts";
import { exitCodes } from "../exit-codes.ts";
import { formatHelp, parseFormat } from "../output/format.ts";
import { type AddCommand, withExamples } from "./command.ts";
import { type RunFilters, runFieldSelector } from "./list-options.ts";
import { showList } from "./show-list.ts";

interface Flags extends ClusterFlags, RunFilters {
  readonly allNamespaces?: true;
  readonly selector?: string;
  readonly output?: string;
  readonly watch?: true;
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
    // Fingers that know kubectl type it.
    .addOption(new Option("-w, --watch").hideHelp())
    .action(async (flags: Flags) => {
      if (flags.watch) {
        throw new CliError("krt list shows what is there now", {
          advice: "Write kubectl get runs --watch, or krt logs -f NAME for one of them.",
        });
      }
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
