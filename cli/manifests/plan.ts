import type { Run } from "#api/kinds/run.ts";
import type { WorkflowRun } from "#api/kinds/workflow-run.ts";
import { runs, workflowActions, workflowRuns, workflows } from "#api/resources.ts";
import { CliError } from "../errors.ts";
import { rankOf } from "./kinds.ts";
import { type Manifest, nameOf } from "./manifest.ts";
import { ManifestError } from "./problem.ts";
import { missingReferences } from "./references.ts";

/** What is created in a temporary cluster, in this order, and then waited for. */
export interface Plan {
  /** Everything that runs refer to. */
  readonly definitions: readonly Manifest[];
  /** What is executed and awaited. */
  readonly executions: readonly Execution[];
}

/** Something to execute, and the manifest that it comes from. */
export type Execution =
  | { readonly kind: "Run"; readonly object: Run; readonly manifest: Manifest }
  | { readonly kind: "WorkflowRun"; readonly object: WorkflowRun; readonly manifest: Manifest };

/**
 * Decides what to do with the manifests. Runs and WorkflowRuns are executed as they are; when there are none, every Workflow is
 * executed once.
 *
 * @throws ManifestError for references that lead nowhere; CliError when there is nothing to execute.
 */
export function planOf(manifests: readonly Manifest[]): Plan {
  const problems = missingReferences(manifests);
  if (problems.length > 0) throw new ManifestError(problems);
  return orderedPlan(manifests);
}

/** The same for a cluster that may hold more than the manifests. @throws CliError when there is nothing to execute, ManifestError for WorkflowActions */
export function orderedPlan(manifests: readonly Manifest[]): Plan {
  const asking = manifests.filter(({ resource }) => resource.kind === workflowActions.kind);
  if (asking.length > 0) {
    throw new ManifestError(
      asking.map(({ file, at }) => ({
        file,
        ...at("kind"),
        message: "a WorkflowAction is nothing to run: it asks something of a WorkflowRun that is there",
        advice: "Create it with kubectl, or use krt workflow stop, resume and so on.",
      })),
    );
  }
  const ordered = manifests.toSorted((a, b) => rankOf(a.resource) - rankOf(b.resource));
  const isExecution = ({ resource }: Manifest) => resource.kind === runs.kind || resource.kind === workflowRuns.kind;
  const definitions = ordered.filter((manifest) => !isExecution(manifest));
  const given = ordered.filter(isExecution).map(toExecution);
  const executions = given.length > 0 ? given : definitions.filter(isWorkflow).map(startOf);
  if (executions.length === 0) throw nothingToRun(manifests);
  return { definitions, executions };
}

const isWorkflow = ({ resource }: Manifest) => resource.kind === workflows.kind;

function toExecution(manifest: Manifest): Execution {
  // The API server judges the form of spec; until then the type is a promise that nobody has checked.
  return { kind: manifest.resource.kind, object: manifest.object, manifest } as unknown as Execution;
}

/** One execution of a Workflow, under a name that the server makes up. */
function startOf(manifest: Manifest): Execution {
  const { name, namespace } = manifest.object.metadata;
  const metadata = { generateName: `${name}-`, ...(namespace === undefined ? {} : { namespace }) };
  // `name` is the server's to give; our types want it of every object that was read.
  const object = { metadata: metadata as WorkflowRun["metadata"], spec: { workflowRef: { name } } };
  return { kind: "WorkflowRun", object, manifest };
}

function nothingToRun(manifests: readonly Manifest[]): CliError {
  const held =
    manifests.length === 0 ? "the files are empty" : `the files hold only ${manifests.map(nameOf).join(", ")}`;
  return new CliError(`there is nothing to run: ${held}`, {
    advice: "Name a file with a Workflow, a WorkflowRun or a Run, too.",
  });
}
