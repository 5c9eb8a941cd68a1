import type { KubeObject } from "#api/meta.ts";
import { runs, workflowRuns } from "#api/resources.ts";
import type { Client } from "#kube/resource.ts";
import { isAlreadyExists, StatusError } from "#kube/transport.ts";
import type { Created } from "./apply.ts";
import { type Manifest, nameOf } from "./manifest.ts";
import type { Plan } from "./plan.ts";
import { ManifestError } from "./problem.ts";
import { refusalProblems } from "./refusal.ts";

/** A misspelt field is an error, not something to drop in silence. */
const strict = { fieldValidation: "Strict" } as const;

/**
 * Brings a plan to a cluster that lives on: definitions are created, or replaced where they are there, then executions are
 * created.
 *
 * @param note told what was done with each definition
 * @throws ManifestError with what the cluster refuses in the manifests; StatusError for everything else
 */
export async function submit(plan: Plan, client: Client, note: (text: string) => void): Promise<Created> {
  for (const manifest of plan.definitions) {
    const done = await refusing(manifest, () => createOrReplace(manifest, client));
    note(`${nameOf(manifest)} ${done}`);
  }
  const created: { runs: Created["runs"][number][]; workflowRuns: Created["workflowRuns"][number][] } = {
    runs: [],
    workflowRuns: [],
  };
  for (const execution of plan.executions) {
    await refusing(execution.manifest, async () => {
      if (execution.kind === "Run") created.runs.push(await client.of(runs).create(execution.object, strict));
      else created.workflowRuns.push(await client.of(workflowRuns).create(execution.object, strict));
    });
  }
  return created;
}

async function createOrReplace(
  { resource, object }: Manifest,
  client: Client,
): Promise<"created" | "configured" | "unchanged"> {
  const kind = client.of(resource);
  try {
    await kind.create(object, strict);
    return "created";
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
  }
  const { name, namespace } = object.metadata;
  const there = await kind.get({ name, namespace });
  // What others have written into the object, such as finalizers and status, stays.
  const { apiVersion: _, kind: __, metadata, status: ___, ...content } = object;
  const own = Object.fromEntries(Object.entries(metadata).filter(([key]) => key === "labels" || key === "annotations"));
  const patch = { metadata: { ...own, resourceVersion: there.metadata.resourceVersion }, ...content };
  const after: KubeObject = await kind.patch({ name, namespace }, patch);
  return after.metadata.resourceVersion === there.metadata.resourceVersion ? "unchanged" : "configured";
}

/** What is wrong with the object is told with its place in the file. */
async function refusing<T>(manifest: Manifest, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof StatusError && (error.code === 422 || error.code === 400 || error.code === 409)) {
      throw new ManifestError(refusalProblems(manifest, error));
    }
    throw error;
  }
}
