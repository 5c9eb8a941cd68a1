import { type Command, Option } from "commander";
import { duration, pairs } from "../commands/command.ts";
import type { Environment } from "../environment.ts";
import type { ExitCode } from "../exit-codes.ts";

const examples = `
Examples:
  A Workflow and the Runtime that runs it, with the output of the steps:
    krt local run runtime.yaml workflow.yaml --follow

  All manifests of a directory, keeping artifacts and workspaces for a look:
    krt local run examples/data-sharing --keep

  From another program:
    krt local run runtime.yaml - < workflow.yaml

WorkflowRuns and Runs in the files are executed as they are. Without any, each
Workflow is executed once. Nothing is left running when the command ends.`;

interface Flags {
  readonly namespace?: string;
  readonly follow?: true;
  readonly keep?: true;
  readonly verbose?: true;
  readonly set?: Readonly<Record<string, string>>;
  readonly timeout: number;
}

/** `krt local run FILE...` */
export function addRun(local: Command, env: Environment, end: (code: ExitCode) => void): void {
  local
    .command("run")
    .summary("run the workflows of files in a temporary cluster")
    .description(
      "Starts a cluster in a temporary directory, applies the manifests, runs their workflows, shows the progress, " +
        "and ends with the result.",
    )
    .argument("<FILE...>", "YAML or JSON files, directories of them, or - for standard input")
    .option("-n, --namespace <name>", "namespace of objects that name none (default: default)")
    .option("-f, --follow", "show the output of the Runs while they run")
    .option("--set <name=value>", "input of the Workflows; may be given several times", pairs)
    .option("--keep", "keep the directory of the cluster, and tell where things are in it")
    .addOption(
      new Option("--timeout <duration>", "longest time until everything is over, e.g. 90s, 5m, 1h")
        .argParser(duration)
        .default(600_000, "10m"),
    )
    .option("--verbose", "show the log of the cluster, too")
    .addHelpText("after", examples.replaceAll("    krt ", `    ${env.invokedAs} `))
    .showHelpAfterError(`     See ${env.invokedAs} local run --help.`)
    .action(async (paths: string[], flags: Flags) => {
      const { execute } = await import("./execute.ts");
      const { namespace, follow = false, keep = false, verbose = false, timeout, set = {} } = flags;
      end(await execute(paths, { namespace, follow, keep, verbose, timeoutMs: timeout, set }, env));
    });
}
