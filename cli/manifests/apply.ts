import type { Run } from "#api/kinds/run.ts";
import type { WorkflowRun } from "#api/kinds/workflow-run.ts";
import type { KubeObject } from "#api/meta.ts";
import { runs, workflowRuns } from "#api/resources.ts";
import { namespaces } from "#kube/builtin.ts";
import type { Client } from "#kube/resource.ts";
import { isAlreadyExists } from "#kube/transport.ts";
import type { Manifest } from "./manifest.ts";
import type { Plan } from "./plan.ts";
import { ManifestError, type Problem } from "./problem.ts";
import { refusalProblems } from "./refusal.ts";

/** What was created and is awaited. */
export interface Created {
  readonly runs: readonly Run[];
  readonly workflowRuns: readonly WorkflowRun[];
}

/**
 * Creates everything in the order of the plan. Executions are created only when all definitions were accepted.
 *
 * @throws ManifestError with everything that the API server refused.
 */
export async function apply(plan: Plan, client: Client): Promise<Created> {
  await createNamespaces(plan, client);
  const definitions = await all(plan.definitions, (manifest) => createDefinition(manifest, client));
  refuse(definitions.problems);
  const executions = await all(plan.executions, (execution) =>
    guarded(execution.manifest, async () =>
      execution.kind === "Run"
        ? { kind: "Run" as const, object: await client.of(runs).create(execution.object, strict) }
        : { kind: "WorkflowRun" as const, object: await client.of(workflowRuns).create(execution.object, strict) },
    ),
  );
  refuse(executions.problems);
  return {
    runs: executions.results.flatMap((one) => (one.kind === "Run" ? [one.object] : [])),
    workflowRuns: executions.results.flatMap((one) => (one.kind === "WorkflowRun" ? [one.object] : [])),
  };
}

/** A misspelt field is an error, not something to drop in silence. */
const strict = { fieldValidation: "Strict" } as const;

type Result<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly problems: Problem[] };

async function guarded<T>(manifest: Manifest, work: () => Promise<T>): Promise<Result<T>> {
  try {
    return { ok: true, value: await work() };
  } catch (error) {
    return { ok: false, problems: refusalProblems(manifest, error) };
  }
}

/** One after the other, so that what others refer to is there first. */
async function all<A, T>(items: readonly A[], work: (item: A) => Promise<Result<T>>) {
  const results: T[] = [];
  const problems: Problem[] = [];
  for (const item of items) {
    const result = await work(item);
    if (result.ok) results.push(result.value);
    else problems.push(...result.problems);
  }
  return { results, problems };
}

function refuse(problems: readonly Problem[]): void {
  if (problems.length > 0) throw new ManifestError(problems);
}

function createDefinition(manifest: Manifest, client: Client): Promise<Result<KubeObject | undefined>> {
  const { resource, object } = manifest;
  return guarded(manifest, async () => {
    try {
      return await client.of(resource).create(object, strict);
    } catch (error) {
      // The namespaces that objects name were made before.
      if (resource.kind === namespaces.kind && isAlreadyExists(error)) return undefined;
      throw error;
    }
  });
}

/** Namespaces that objects are put into and that no file defines: on a temporary cluster nobody else makes them. */
async function createNamespaces(plan: Plan, client: Client): Promise<void> {
  const manifests = [...plan.definitions, ...plan.executions.map(({ manifest }) => manifest)];
  const defined = new Set(
    manifests.filter(({ resource }) => resource.kind === namespaces.kind).map(({ object }) => object.metadata.name),
  );
  for (const name of new Set(manifests.map(({ object }) => object.metadata.namespace))) {
    if (name === undefined || defined.has(name)) continue;
    try {
      await client.of(namespaces).create({ metadata: { name } });
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
    }
  }
}
