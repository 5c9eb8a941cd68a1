import type { Runtime } from "#api/kinds/runtime.ts";
import type { Action, Workflow } from "#api/kinds/workflow.ts";
import type { WorkflowRun } from "#api/kinds/workflow-run.ts";
import { actions, runtimes, workflowRuns, workflows } from "#api/resources.ts";
import { namespaces } from "#kube/builtin.ts";
import type { Client } from "#kube/resource.ts";
import { isAlreadyExists } from "#kube/transport.ts";
import { templatesOf } from "#workflows/collect-templates.ts";
import { workflowErrors } from "#workflows/compile-workflow.ts";
import type { FieldError } from "#workflows/field-error.ts";
import type { Where } from "#workflows/plan.ts";
import { runtimeLanguage } from "#workflows/script/language.ts";
import { rankOf } from "../manifests/kinds.ts";
import type { Manifest } from "../manifests/manifest.ts";
import type { Problem } from "../manifests/problem.ts";
import { missingReferences } from "../manifests/references.ts";
import { fieldProblem, refusalProblems } from "../manifests/refusal.ts";

/** Something that lint found. Warnings are about what the files cannot tell: names that another place may know. */
export interface Finding extends Problem {
  readonly severity: "error" | "warning";
}

/**
 * Judges manifests as a cluster would that holds nothing else, and their workflows with everything that the files have for them.
 *
 * @param client of an empty cluster, which is filled with what is in order
 */
export async function lint(manifests: readonly Manifest[], client: Client): Promise<Finding[]> {
  const errors: Problem[] = [];
  const sound: Manifest[] = [];
  for (const manifest of manifests.toSorted((a, b) => rankOf(a.resource) - rankOf(b.resource))) {
    const problems = await refusals(manifest, client);
    if (problems.length === 0) sound.push(manifest);
    errors.push(...problems);
  }
  for (const manifest of sound) errors.push(...together(manifest, sound));
  // What is refused is there all the same: it is not missing as well.
  const warnings = missingReferences(manifests).filter(
    (missing) => !errors.some((error) => error.file === missing.file && error.line === missing.line),
  );
  return [
    ...errors.map((problem) => ({ ...problem, severity: "error" as const })),
    ...warnings.map((problem) => ({ ...problem, severity: "warning" as const })),
  ];
}

async function refusals(manifest: Manifest, client: Client): Promise<Problem[]> {
  const { resource, object } = manifest;
  const { namespace } = object.metadata;
  if (namespace !== undefined)
    await client
      .of(namespaces)
      .create({ metadata: { name: namespace } })
      .catch(ifThere);
  try {
    await client.of(resource).create(object, { fieldValidation: "Strict" });
    return [];
  } catch (error) {
    // A namespace was made for an object in it; what stands twice was found when the files were read.
    return isAlreadyExists(error) ? [] : refusalProblems(manifest, error);
  }
}

function ifThere(error: unknown): undefined {
  if (!isAlreadyExists(error)) throw error;
  return undefined;
}

/** What is wrong between a workflow and the Actions, Workflows and Runtimes of the files; by itself it is sound. */
function together(manifest: Manifest, all: readonly Manifest[]): Problem[] {
  const { resource, object } = manifest;
  const where = whereIn(all, object.metadata.namespace);
  const errors = (): readonly FieldError[] => {
    if (resource.kind === workflows.kind) return workflowErrors((object as unknown as Workflow).spec, where);
    const { jobs } = resource.kind === workflowRuns.kind ? (object as unknown as WorkflowRun).spec : {};
    return jobs === undefined ? [] : workflowErrors({ jobs }, where);
  };
  return errors().map((error) => fieldProblem(manifest, error));
}

function whereIn(all: readonly Manifest[], namespace: string | undefined): Where {
  // They are accepted by the server, so they have the form of their kinds.
  const of = <T>(kind: string) =>
    all
      .filter(({ resource, object }) => resource.kind === kind && object.metadata.namespace === namespace)
      .map(({ object }) => object as unknown as T);
  const languages = new Map(
    of<Runtime>(runtimes.kind).map(({ metadata, spec }) => [metadata.name, runtimeLanguage(spec)]),
  );
  return {
    path: "spec",
    languageOf: (name) => languages.get(name),
    templates: templatesOf({ workflows: of<Workflow>(workflows.kind), actions: of<Action>(actions.kind) }),
  };
}
