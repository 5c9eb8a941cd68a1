import type { WorkflowRun } from "#api/kinds/workflow-run.ts";
import { workflowRuns, workflows } from "#api/resources.ts";
import { workflowRunPhases } from "#api/workflow-phases.ts";
import { renderTree } from "#workflows/tree.ts";
import { followWorkflowRun, orderOf } from "../cluster/follow-workflow.ts";
import { bareName } from "../cluster/object-name.ts";
import { type ClusterFlags, withClusterOptions } from "../cluster/options.ts";
import { inCluster } from "../cluster/session.ts";
import { forEachName } from "../cluster/several.ts";
import { readUsedRuns } from "../cluster/used-runs.ts";
import { exitCodes } from "../exit-codes.ts";
import { formatHelp, parseFormat } from "../output/format.ts";
import { type AddCommand, refuseOthers, withExamples } from "./command.ts";
import { getNamed } from "./get.ts";
import { parsePhases } from "./list-options.ts";
import { showList } from "./show-list.ts";
import { addWorkflowActions } from "./workflow-act.ts";
import { addWorkflowLint } from "./workflow-lint.ts";
import { addWorkflowRun } from "./workflow-run.ts";

interface ListFlags extends ClusterFlags {
  readonly allNamespaces?: true;
  readonly selector?: string;
  readonly output?: string;
  readonly phase?: string;
  readonly workflow?: string;
  readonly templates?: true;
}

interface WatchFlags extends ClusterFlags {
  readonly output?: true;
}

/** `krt workflow` */
export const addWorkflow: AddCommand = (parent, env, end) => {
  const workflow = parent.command("workflow").alias("wf").description("run Workflows, and watch them");
  workflow.showHelpAfterError(`     See ${env.invokedAs} workflow --help.`);
  for (const add of [
    addWorkflowRun,
    addWorkflowLint,
    addWorkflowList,
    addWorkflowGet,
    addWorkflowWatch,
    addWorkflowActions,
  ])
    add(workflow, env, end);
  refuseOthers(workflow, env, "workflow", elsewhere);
};

/** What people look for among the commands of workflows, and where it is. */
const elsewhere: Readonly<Record<string, string>> = {
  logs: "Write krt logs workflowrun/NAME.",
  describe: "Write krt workflow get NAME, or kubectl describe workflowrun NAME.",
  wait: "krt workflow watch NAME ends with the result of the run.",
  cancel: "Write krt workflow stop NAME; terminate if nothing shall clean up.",
  delete: "Write kubectl delete workflowrun NAME.",
};

const addWorkflowList: AddCommand = (parent, env, end) => {
  const command = parent
    .command("list")
    .alias("ls")
    .summary("list WorkflowRuns, or Workflows")
    .description("Lists WorkflowRuns; with --templates the Workflows that can be run.")
    .option("--templates", "the Workflows")
    .option("-A, --all-namespaces", "of all namespaces")
    .option("--phase <phases>", "only of these phases, e.g. Running,Failed")
    .option("-w, --workflow <name>", "only runs of this Workflow")
    .option("-l, --selector <labels>", "only with these labels")
    .option("-o, --output <format>", formatHelp)
    .action(async (flags: ListFlags) => {
      const options = {
        format: parseFormat(flags.output),
        labelSelector: flags.selector,
        allNamespaces: flags.allNamespaces === true,
      };
      const keep = filterOf(flags);
      await inCluster(flags, env, (session) =>
        flags.templates
          ? showList(workflows, options, session)
          : showList(workflowRuns, { ...options, ...(keep && { keep }) }, session),
      );
      end(exitCodes.succeeded);
    });
  withExamples(withClusterOptions(command), env, "workflow list", [
    ["What runs now", "workflow list --phase Running"],
    ["What can be run", "workflow list --templates"],
  ]);
};

/** WorkflowRuns have no selectable fields, so these filters are ours. */
function filterOf({ phase, workflow }: ListFlags): ((run: WorkflowRun) => boolean) | undefined {
  if (phase === undefined && workflow === undefined) return undefined;
  const phases = phase === undefined ? undefined : parsePhases(phase, workflowRunPhases);
  return ({ spec, status }) =>
    (phases?.includes(status?.phase ?? "Pending") ?? true) &&
    (workflow === undefined || spec.workflowRef?.name === workflow);
}

const addWorkflowGet: AddCommand = (parent, env, end) => {
  const command = parent
    .command("get")
    .summary("show WorkflowRuns as trees")
    .description("Shows WorkflowRuns: jobs, steps, outputs and artifacts as a tree, or as data.")
    .argument("<NAME...>", "names of WorkflowRuns")
    .option("-o, --output <format>", formatHelp.replace("a table", "a tree"))
    .action(async (names: string[], flags: ListFlags) => {
      const format = parseFormat(flags.output);
      end(
        await inCluster(flags, env, (session) => {
          if (flags.output !== undefined) return getNamed(workflowRuns, names, format, session);
          return forEachName(workflowRuns, names, session, async (name) => {
            const run = await session.client.of(workflowRuns).get({ name, namespace: session.namespace });
            const order = await orderOf(run, session);
            const used = await readUsedRuns(run, session);
            const options = { now: env.clock.now(), color: env.out.color, used, ...(order && { order }) };
            const lines = renderTree(run, options);
            env.out.write(lines.map((line) => `${line}\n`).join(""));
            return undefined;
          });
        }),
      );
    });
  withExamples(withClusterOptions(command), env, "workflow get", [["How it stands", "workflow get ci-x7k2p"]]);
};

const addWorkflowWatch: AddCommand = (parent, env, end) => {
  const command = parent
    .command("watch")
    .summary("watch a WorkflowRun until its end")
    .description("Shows a WorkflowRun as a tree that changes in place, and ends with its result.")
    .argument("<NAME>", "name of a WorkflowRun")
    .option("--output", "show the output of its steps, too")
    .action(async (name: string, flags: WatchFlags) => {
      end(
        await inCluster(flags, env, (session) =>
          followWorkflowRun(bareName(workflowRuns, name), flags.output === true, false, session),
        ),
      );
    });
  withExamples(withClusterOptions(command), env, "workflow watch", [["Until its end", "workflow watch ci-x7k2p"]]);
};
