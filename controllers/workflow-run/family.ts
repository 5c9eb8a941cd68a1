import type { WorkflowRun } from "#api/kinds/workflow-run.ts";
import type { KubeObject } from "#api/meta.ts";
import { workflowRuns } from "#api/resources.ts";
import { hasEnded } from "#api/workflow-phases.ts";
import type { Informers } from "#controllers/informers.ts";
import { maxLevels } from "#workflows/uses.ts";

/**
 * Runs above and below a run: a job of a run may be a WorkflowRun of its own. What is said above is not copied to those below: each
 * looks it up when it is its turn, so that a crash between two writes loses nothing, and a Resume above takes nothing away that
 * somebody said below. Owners may be made to go round in a circle by hand.
 */
export interface Family {
  /** The run whose job this one is; undefined also when it is gone, and the garbage collector will come. */
  parentOf(run: WorkflowRun): WorkflowRun | undefined;
  /** The nearest run above that is suspended: nothing begins below it. One that ends beats those above it. */
  holderOf(run: WorkflowRun): WorkflowRun | undefined;
  /** The runs below a run that have not ended: they end when their job is to, and nothing begins there while one above is suspended. */
  below(run: WorkflowRun): Iterable<WorkflowRun>;
}

/** @returns the relations of WorkflowRuns as the caches know them. */
export function familyOf({ workflowRuns: cache }: Pick<Informers, "workflowRuns">): Family {
  return { parentOf, holderOf: (run) => holderOf(run, 1), below: (run) => below(run, 1) };

  function parentOf(run: WorkflowRun): WorkflowRun | undefined {
    const owner = ownerOf(run);
    const found = owner && cache.get(`${run.metadata.namespace}/${owner.name}`);
    return found?.metadata.uid === owner?.uid ? found : undefined;
  }

  function holderOf(run: WorkflowRun, level: number): WorkflowRun | undefined {
    const parent = level >= maxLevels ? undefined : parentOf(run);
    if (parent === undefined || parent.status?.phase === "Stopping") return undefined;
    return parent.status?.phase === "Suspended" ? parent : holderOf(parent, level + 1);
  }

  function* below(run: WorkflowRun, level: number): Iterable<WorkflowRun> {
    if (level >= maxLevels) return;
    for (const child of cache.byIndex("owner", run.metadata.uid ?? "")) {
      if (hasEnded(child.status?.phase)) continue;
      yield child;
      yield* below(child, level + 1);
    }
  }
}

/** Whether a Resume of this very run would do something: it is suspended, or a gate of it waits. */
export function waitsForResume({ status }: WorkflowRun): boolean {
  return status?.suspended === true || Object.values(status?.jobs ?? {}).some(({ phase }) => phase === "Suspended");
}

/** The WorkflowRun that an object is a child of. */
export function ownerOf(child: KubeObject | undefined) {
  const owner = child?.metadata.ownerReferences?.find((reference) => reference.controller);
  return owner?.kind === workflowRuns.kind ? owner : undefined;
}
