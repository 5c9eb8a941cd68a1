import type { ArtifactRef } from "#api/kinds/artifact-ref.ts";
import type { RunArtifactInput } from "#api/kinds/run.ts";
import type { ArtifactStoreSpec, RuntimeSpec } from "#api/kinds/runtime.ts";
import type { JobStatus } from "#api/kinds/workflow-run.ts";
import { listOf } from "./field-error.ts";
import { instanceKey } from "./matrix.ts";
import { type JobPlan, runsOnOf, stepsOf } from "./plan.ts";
import { memberOf } from "./values.ts";

type Jobs = Readonly<Record<string, JobStatus>> | undefined;

export type ArtifactInputs =
  /** The inputs of each step that takes artifacts, by the name of the step. */
  | { readonly ok: true; readonly inputs: ReadonlyMap<string, readonly RunArtifactInput[]> }
  | { readonly ok: false; readonly reason: "ArtifactMissing" | "ArtifactAmbiguous"; readonly message: string };

/**
 * Resolves all artifacts that the steps of a job take, before its first Run. A name that is not there will not come any more: the
 * producers have ended, so the job fails at once with a message that lists what there is.
 *
 * @param jobs `status.jobs` of the WorkflowRun
 */
export function resolveArtifacts(job: JobPlan, jobs: Jobs): ArtifactInputs {
  const inputs = new Map<string, RunArtifactInput[]>();
  for (const step of stepsOf(job)) {
    for (const { job: producer, name, path } of step.artifacts) {
      const status = memberOf(jobs, producer);
      const where = `step "${step.name}" takes artifact "${name}" of job "${producer}"`;
      if (status?.phase !== "Succeeded") {
        const message = `${where}, which did not succeed (${status?.phase ?? "Waiting"})`;
        return { ok: false, reason: "ArtifactMissing", message };
      }
      const sources = sourcesOf(producer, status, jobs);
      const [found, second] = sources.filter((source) => memberOf(source.artifacts, name) !== undefined);
      const ref = memberOf(found?.artifacts, name);
      if (found === undefined || ref === undefined) {
        const names = new Set(sources.flatMap(({ artifacts }) => Object.keys(artifacts)));
        return { ok: false, reason: "ArtifactMissing", message: `${where}, which has ${listOf([...names].sort())}` };
      }
      if (second !== undefined) {
        const message = `${where}, and jobs "${found.id}" and "${second.id}" have one of that name`;
        return { ok: false, reason: "ArtifactAmbiguous", message };
      }
      inputs.set(step.name, [...(inputs.get(step.name) ?? []), { ref, path }]);
    }
  }
  return { ok: true, inputs };
}

/** Who keeps the artifacts of a job: the job itself, or the instances of its matrix. */
function sourcesOf(id: string, { artifacts = {}, instances = 0 }: JobStatus, jobs: Jobs) {
  if (instances === 0) return [{ id, artifacts }];
  const keys = Array.from({ length: instances }, (_, index) => instanceKey(id, index));
  return keys.map((key) => ({ id: key, artifacts: memberOf(jobs, key)?.artifacts ?? {} }));
}

/** A Runtime by name, as far as stores are concerned. */
export interface StoreOwner {
  readonly name: string;
  readonly spec: Pick<RuntimeSpec, "artifactStore">;
}

/**
 * Whether a Runtime can read what another one stored: both name the same place with the same driver. Credentials may differ.
 * Returns why not, or nothing.
 */
export function storeMismatch(producer: StoreOwner, consumer: StoreOwner): string | undefined {
  const from = producer.spec.artifactStore;
  const to = consumer.spec.artifactStore;
  if (from === undefined) return `Runtime "${producer.name}" has no artifactStore`;
  if (to === undefined) return `Runtime "${consumer.name}" has no artifactStore`;
  const a = placeOf(from);
  const b = placeOf(to);
  if (a === b) return undefined;
  return `Runtimes "${producer.name}" and "${consumer.name}" keep artifacts in different places: ${a} and ${b}`;
}

/** Why a Runtime cannot read an artifact, as far as its coordinates tell; undefined when they speak for it. */
export function unreadable({ driver, location }: ArtifactRef, { name, spec }: StoreOwner): string | undefined {
  const store = spec.artifactStore;
  if (store === undefined) return `Runtime "${name}" has no artifactStore`;
  if (store.driver !== driver)
    return `it is in a store of driver ${driver}, Runtime "${name}" has one of ${store.driver}`;
  const [what, at, own] =
    driver === "Filesystem"
      ? ["claim", location.filesystem?.volumeClaimName, store.filesystem?.volumeClaimName]
      : ["bucket", location.s3?.bucket, store.s3?.bucket];
  // A reference need not name the claim.
  return at === undefined || at === own ? undefined : `it is in ${what} ${at}, Runtime "${name}" has ${what} ${own}`;
}

/**
 * Checks the stores of all producers of a job against the store of its own Runtime, before its Runs exist. Where instances of a matrix
 * may have different Runtimes, the coordinates of the artifacts have to do.
 *
 * @param consumer its own Runtime; one that is not there is nobody's mismatch (its Runs wait for it)
 * @param runtimeOf the Runtime of that name
 * @param inputs the artifacts that it takes
 */
export function checkStores(
  job: JobPlan,
  consumer: StoreOwner | undefined,
  jobs: ReadonlyMap<string, JobPlan>,
  runtimeOf: (name: string) => StoreOwner | undefined,
  inputs: Iterable<readonly RunArtifactInput[]> = [],
): { readonly reason: "ArtifactStoreMismatch"; readonly message: string } | undefined {
  if (consumer === undefined) return undefined;
  const producers = new Set(stepsOf(job).flatMap((step) => step.artifacts.map((artifact) => artifact.job)));
  for (const id of producers) {
    const from = jobs.get(id);
    const producer = from && runtimeOf(runsOnOf(from));
    const mismatch = producer && storeMismatch(producer, consumer);
    if (mismatch === undefined) continue;
    const message = `job "${job.id}" takes artifacts of job "${id}", but ${mismatch}`;
    return { reason: "ArtifactStoreMismatch", message };
  }
  for (const { ref } of [...inputs].flat()) {
    const why = unreadable(ref, consumer);
    if (why === undefined) continue;
    return { reason: "ArtifactStoreMismatch", message: `job "${job.id}" takes artifact "${ref.name}", but ${why}` };
  }
  return undefined;
}

/** The place that a store writes to, as people would write it. Equal texts are equal places. */
function placeOf({ driver, filesystem, s3 }: ArtifactStoreSpec): string {
  if (driver === "Filesystem") return `claim ${filesystem?.volumeClaimName}`;
  const prefix = (s3?.prefix ?? "").replace(/^\/+|\/+$/g, "");
  const endpoint = s3?.endpoint === undefined ? "" : ` at ${s3.endpoint.replace(/\/+$/, "")}`;
  // Without an endpoint a bucket name is unique in the world, so the region tells nothing more.
  return `bucket ${s3?.bucket}${prefix === "" ? "" : ` below ${prefix}`}${endpoint}`;
}
