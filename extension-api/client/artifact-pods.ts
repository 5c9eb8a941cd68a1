import type { ArtifactRef } from "#api/kinds/artifact-ref.ts";
import type { Runtime } from "#api/kinds/runtime.ts";
import { labels } from "#api/labels.ts";
import { runtimes } from "#api/resources.ts";
import { type Pod, pods } from "#kube/builtin.ts";
import { listAll } from "#kube/client.ts";
import type { Client } from "#kube/resource.ts";

/** Where an artifact can be read, or why nowhere. */
export type Readers = { readonly pods: readonly string[] } | { readonly problem: string };

/**
 * The ready Pods whose agents have the store of a reference: those of the Runtime that made it, and of every other one of the
 * namespace with the same store.
 */
export async function readersOf(
  client: Client,
  namespace: string,
  ref: ArtifactRef,
  signal?: AbortSignal,
): Promise<Readers> {
  const options = { namespace, signal };
  const all = await listAll(client.of(runtimes), options);
  const able = all.items.filter((runtime) => hasStoreOf(runtime, ref)).map(({ metadata }) => metadata.name);
  if (able.length === 0) {
    return { problem: `no Runtime of namespace ${namespace} has the store of the artifact (${storeOf(ref)})` };
  }
  const found = await listAll(client.of(pods), {
    ...options,
    labelSelector: `${labels.runtime} in (${able.join(",")})`,
  });
  const ready = found.items.filter(isReady).map(({ metadata }) => metadata.name);
  if (ready.length > 0) return { pods: ready };
  return { problem: `no Pod of Runtime ${able.join(" or ")} is ready; an artifact is read through one of them` };
}

function hasStoreOf({ spec: { artifactStore } }: Runtime, { driver, location }: ArtifactRef): boolean {
  if (artifactStore?.driver !== driver) return false;
  // Of an S3 store the agent itself says whether the bucket is its own.
  return driver !== "Filesystem" || artifactStore.filesystem?.volumeClaimName === location.filesystem?.volumeClaimName;
}

function storeOf({ driver, location }: ArtifactRef): string {
  const where = location.filesystem?.volumeClaimName ?? location.s3?.bucket;
  return where === undefined ? driver : `${driver} ${where}`;
}

function isReady({ metadata, status }: Pod): boolean {
  if (metadata.deletionTimestamp !== undefined) return false;
  return (status?.conditions ?? []).some((condition) => condition.type === "Ready" && condition.status === "True");
}
