import type { ArtifactRef } from "#api/kinds/artifact-ref.ts";
import type { KubeObject } from "#api/meta.ts";
import { runs, workflowRuns } from "#api/resources.ts";
import { isTerminal } from "#api/runs.ts";
import type { Clock, Logger } from "#kube/ports.ts";
import type { Client, ListOptions, ResourceType } from "#kube/resource.ts";
import { runUidOf } from "#runtime/artifacts/location.ts";
import type { ArtifactStore } from "#runtime/artifacts/store.ts";

export interface SweepDeps {
  readonly client: Client;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly store: ArtifactStore;
  readonly namespace: string;
}

/** Objects of one answer of the API server; the default of kubectl. */
const pageSize = 500;

/**
 * Removes the artifacts of Runs that are gone and that nobody refers to: no WorkflowRun that is still there, no Run that
 * has yet to end. Only what the owner marker says to be of this cluster and namespace is ever looked at; what was stored
 * in the last `minAgeMs` is left alone. Whatever cannot be read ends the sweep before anything is removed.
 *
 * @returns UIDs of the Runs whose artifacts were removed
 */
export async function sweepArtifacts(deps: SweepDeps, minAgeMs: number, signal: AbortSignal): Promise<string[]> {
  const { clock, logger, store } = deps;
  const unclaimed = new Set<string>();
  // The store first: a Run whose artifacts it already has was there before the API server is asked.
  for await (const { runUid, modifiedAt } of store.list()) {
    if (clock.now() - modifiedAt >= minAgeMs) unclaimed.add(runUid);
  }
  if (unclaimed.size > 0) await keepReferenced(deps, unclaimed, signal);
  const removed: string[] = [];
  for (const runUid of unclaimed) {
    signal.throwIfAborted();
    try {
      await store.delete(runUid);
      removed.push(runUid);
    } catch (error) {
      logger.warn("artifacts that nobody refers to cannot be removed; the next sweep tries again", { runUid, error });
    }
  }
  return removed;
}

/**
 * Takes out of `unclaimed` every Run that is there, and every one whose artifacts are referred to.
 *
 * References move while this looks: from a WorkflowRun to the Run that consumes them, from a Run to the WorkflowRun that records its
 * result. They are written at the new place before the old one goes. So what was not in a WorkflowRun before the Runs were
 * listed, nor in a Run then, is in a WorkflowRun after that, or nowhere.
 */
async function keepReferenced({ client, namespace }: SweepDeps, unclaimed: Set<string>, signal: AbortSignal) {
  const keep = (refs: Iterable<Pick<ArtifactRef, "location">>) => {
    for (const ref of refs) unclaimed.delete(runUidOf(ref) ?? "");
  };
  const options = { namespace, signal };
  const keepRecorded = async () => {
    if (unclaimed.size === 0) return;
    for await (const { status } of pages(client, workflowRuns, options)) {
      for (const job of Object.values(status?.jobs ?? {})) keep(Object.values(job.artifacts ?? {}));
    }
  };
  await keepRecorded();
  for await (const { metadata, spec, status } of pages(client, runs, options)) {
    unclaimed.delete(metadata.uid ?? "");
    if (!isTerminal(status?.phase)) keep((spec.artifactInputs ?? []).map(({ ref }) => ref));
  }
  await keepRecorded();
}

/** All objects, as they were at one moment. */
async function* pages<T extends KubeObject>(
  client: Client,
  resource: ResourceType<T>,
  options: ListOptions,
): AsyncGenerator<T> {
  let next: string | undefined;
  do {
    const { items, metadata } = await client.of(resource).list({ ...options, limit: pageSize, continue: next });
    yield* items;
    next = metadata.continue;
  } while (next !== undefined && next !== "");
}
