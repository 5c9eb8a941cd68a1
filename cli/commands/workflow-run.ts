import type { WorkflowRun } from "#api/kinds/workflow-run.ts";
import type { KubeObject } from "#api/meta.ts";
import { runtimes, workflowRuns, workflows } from "#api/resources.ts";
import { followWorkflowRun } from "../cluster/follow-workflow.ts";
import { neededRuntimes, requireRuntimes } from "../cluster/needed-runtimes.ts";
import { type ClusterFlags, withClusterOptions } from "../cluster/options.ts";
import { inCluster, type Session } from "../cluster/session.ts";
import { CliError } from "../errors.ts";
import { type ExitCode, exitCodes } from "../exit-codes.ts";
import { type Manifest, nameOf } from "../manifests/manifest.ts";
import { member } from "../manifests/members.ts";
import { ManifestError } from "../manifests/problem.ts";
import { type AddCommand, collected, pairs, withExamples } from "./command.ts";

interface Flags extends ClusterFlags {
  readonly filename?: readonly string[];
  readonly set?: Readonly<Record<string, string>>;
  readonly name?: string;
  readonly follow?: true;
}

/** `krt workflow run NAME | -f FILE` */
export const addWorkflowRun: AddCommand = (parent, env, end) => {
  const command = parent
    .command("run")
    .summary("run a Workflow")
    .description(
      "Runs a Workflow of the cluster, or what files hold: their WorkflowRuns and Runs or, without any, each Workflow once.",
    )
    .argument("[NAME]", "name of a Workflow")
    .option("-f, --filename <path>", "file, directory or - for standard input; may be given several times", collected)
    .option("--set <name=value>", "input of the Workflow; may be given several times", pairs)
    .option("--name <name>", "name of the WorkflowRun (default: the server makes one up)")
    .option("--follow", "show how it goes on, with the output of its steps, and end with its result")
    .action(async (name: string | undefined, flags: Flags) => {
      end(await inCluster(flags, env, (session) => run(name, flags, session)));
    });
  withExamples(withClusterOptions(command), env, "workflow run", [
    ["A Workflow of the cluster, with an input, until its end", "workflow run release --set version=1.2 --follow"],
    ["What a file holds", "workflow run -f ci.yaml --follow"],
  ]);
};

async function run(name: string | undefined, flags: Flags, session: Session): Promise<ExitCode> {
  const { filename: paths } = flags;
  if ((name === undefined) === (paths === undefined)) {
    const message = name === undefined ? "no Workflow is named" : "a name and --filename exclude each other";
    throw new CliError(message, { advice: "Write the name of a Workflow, or files with --filename." });
  }
  if (name !== undefined) return follow([await start(name, flags, session)], flags, session);
  if (flags.name !== undefined) {
    throw new CliError("--name is for a Workflow that is named", {
      advice: "Write it into a WorkflowRun in the file.",
    });
  }
  return follow(await startFiles(paths ?? [], flags, session), flags, session);
}

async function start(workflow: string, { set, name }: Flags, session: Session): Promise<string> {
  const { client, namespace } = session;
  // A WorkflowRun of a Workflow that is not there would only fail.
  const found = await client.of(workflows).get({ name: workflow, namespace });
  const needs = await neededRuntimes(found.spec.jobs, (used) => jobsOf(used, session));
  await requireRuntimes(needs, new Set(), session);
  const { typedInputs } = await import("../inputs/set-inputs.ts");
  const inputs = typedInputs(found, set ?? {});
  const metadata = { namespace, ...(name === undefined ? { generateName: `${workflow}-` } : { name }) };
  const created = await client.of(workflowRuns).create(
    {
      // `name` is the server's to give; our types want it of every object that was read.
      metadata: metadata as WorkflowRun["metadata"],
      spec: { workflowRef: { name: workflow }, ...(set === undefined ? {} : { inputs }) },
    },
    { fieldValidation: "Strict" },
  );
  return created.metadata.name;
}

/** The jobs of a Workflow; what cannot be read is not looked into. */
async function jobsOf(workflow: string, { client, namespace }: Session): Promise<unknown> {
  const found = await client
    .of(workflows)
    .get({ name: workflow, namespace })
    .catch(() => undefined);
  return found?.spec.jobs;
}

async function startFiles(paths: readonly string[], flags: Flags, session: Session): Promise<string[]> {
  const { client, namespace, env } = session;
  const [{ withInputs }, { orderedPlan }, { readManifests }, { submit }] = await Promise.all([
    import("../inputs/set-inputs.ts"),
    import("../manifests/plan.ts"),
    import("../manifests/read.ts"),
    import("../manifests/submit.ts"),
  ]);
  const manifests = await readManifests(paths, flags.namespace, env.files, namespace);
  const plan = withInputs(orderedPlan(manifests), flags.set ?? {});
  const runs = plan.executions.flatMap(({ kind, manifest }) => (kind === "Run" ? [manifest] : []));
  if (runs.length > 0) {
    throw new ManifestError(
      runs.map(({ file, at }) => ({
        file,
        ...at("kind"),
        message: "a Run belongs to no workflow",
        advice: `Run it with ${env.invokedAs} run, or kubectl create.`,
      })),
    );
  }
  for (const { object, manifest } of plan.executions) {
    await requireRuntimesOf(object, ` of ${nameOf(manifest)}`, manifests, session);
  }
  const created = await submit(plan, client, (text) => env.err.write(`${text}\n`));
  return created.workflowRuns.map(({ metadata }) => metadata.name);
}

/** Refuses a WorkflowRun of a file whose jobs would wait for Runtimes that are neither in the files nor in the cluster. */
async function requireRuntimesOf(
  object: KubeObject,
  of: string,
  manifests: readonly Manifest[],
  session: Session,
): Promise<void> {
  const { namespace = session.namespace } = object.metadata;
  const there = { ...session, namespace };
  const held = manifests.filter((manifest) => manifest.object.metadata.namespace === namespace);
  const inFiles = ({ kind }: { kind: string }) => held.filter(({ resource }) => resource.kind === kind);
  const find = async (name: string): Promise<unknown> => {
    const own = inFiles(workflows).find((manifest) => manifest.object.metadata.name === name);
    return own === undefined ? jobsOf(name, there) : member(own.object, "spec", "jobs");
  };
  const name = member(object, "spec", "workflowRef", "name");
  const jobs = typeof name === "string" ? await find(name) : member(object, "spec", "jobs");
  const known = new Set(inFiles(runtimes).map((manifest) => manifest.object.metadata.name));
  await requireRuntimes(await neededRuntimes(jobs, find), known, there, of);
}

/** One after the other: what has ended meanwhile is shown at once. */
async function follow(names: readonly string[], flags: Flags, session: Session): Promise<ExitCode> {
  let code: ExitCode = exitCodes.succeeded;
  for (const name of names) {
    if (!flags.follow) session.env.out.write(`${name}\n`);
    else if (code !== exitCodes.interrupted) code = (await followWorkflowRun(name, true, true, session)) || code;
  }
  return code;
}
