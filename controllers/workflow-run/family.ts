import type { WorkflowRun } from "#api/kinds/workflow-run.ts";
import type { KubeObject } from "#api/meta.ts";
import { workflowRuns } from "#api/resources.ts";
import { hasEnded } from "#api/workflow-phases.ts";
import type { Informers } from "#controllers/informers.ts";
import { maxLevels } from "#workflows/uses.ts";

/** Runs above and below a run: a job of a run may be a WorkflowRun of its own. Owners may be made to go round in a circle by hand. */
export interface Family {
  /** The run whose job this one is; undefined also when it is gone, and the garbage collector will come. */
  parentOf(run: WorkflowRun): WorkflowRun | undefined;
  /** Whether a run, or one that it is a job of, is suspended. */
  isHeld(run: WorkflowRun): boolean;
  /** The runs below a run that have not ended: they end when their job is to, and nothing begins there while one above is suspended. */
  below(run: WorkflowRun): Iterable<WorkflowRun>;
}

/** @returns the relations of WorkflowRuns as the caches know them. */
export function familyOf({ workflowRuns: cache }: Pick<Informers, "workflowRuns">): Family {
  return { parentOf, isHeld: (run) => isHeld(run, 1), below: (run) => below(run, 1) };

  function parentOf(run: WorkflowRun): WorkflowRun | undefined {
    const owner = ownerOf(run);
    const found = owner && cache.get(`${run.metadata.namespace}/${owner.name}`);
    return found?.metadata.uid === owner?.uid ? found : undefined;
  }

  function isHeld(run: WorkflowRun, level: number): boolean {
    if (run.status?.suspended === true) return true;
    const parent = level >= maxLevels ? undefined : parentOf(run);
    return parent !== undefined && isHeld(parent, level + 1);
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

/** The WorkflowRun that an object is a child of. */
export function ownerOf(child: KubeObject | undefined) {
  const owner = child?.metadata.ownerReferences?.find((reference) => reference.controller);
  return owner?.kind === workflowRuns.kind ? owner : undefined;
}
