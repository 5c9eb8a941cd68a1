import { runtimes } from "#api/resources.ts";
import { type ClusterFlags, withClusterOptions } from "../cluster/options.ts";
import { inCluster } from "../cluster/session.ts";
import { exitCodes } from "../exit-codes.ts";
import { formatHelp, parseFormat } from "../output/format.ts";
import { type AddCommand, withExamples } from "./command.ts";
import { getNamed } from "./get.ts";
import { showList } from "./show-list.ts";

interface Flags extends ClusterFlags {
  readonly allNamespaces?: true;
  readonly selector?: string;
  readonly output?: string;
}

/** `krt runtime` */
export const addRuntime: AddCommand = (parent, env, end) => {
  const runtime = parent.command("runtime").description("show Runtimes, the pools of warm Pods");
  runtime.showHelpAfterError(`     See ${env.invokedAs} runtime --help.`);
  const list = runtime
    .command("list")
    .alias("ls")
    .description("Lists Runtimes.")
    .option("-A, --all-namespaces", "of all namespaces")
    .option("-l, --selector <labels>", "only with these labels")
    .option("-o, --output <format>", formatHelp)
    .action(async (flags: Flags) => {
      const { selector: labelSelector, allNamespaces = false } = flags;
      const options = { format: parseFormat(flags.output), labelSelector, allNamespaces };
      await inCluster(flags, env, (session) => showList(runtimes, options, session));
      end(exitCodes.succeeded);
    });
  withExamples(withClusterOptions(list), env, "runtime list", [["Of all namespaces", "runtime list -A"]]);

  const get = runtime
    .command("get")
    .description("Shows Runtimes by name, as a table or as data.")
    .argument("<NAME...>", "names of Runtimes")
    .option("-o, --output <format>", formatHelp)
    .action(async (names: string[], flags: Flags) => {
      const format = parseFormat(flags.output);
      end(await inCluster(flags, env, (session) => getNamed(runtimes, names, format, session)));
    });
  withExamples(withClusterOptions(get), env, "runtime get", [["What it says of itself", "runtime get bash -o yaml"]]);
};
