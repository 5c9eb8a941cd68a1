import type { Run } from "#api/kinds/run.ts";
import { keyOf, type Resource } from "#api/meta.ts";
import { runs, workflowRuns } from "#api/resources.ts";
import { isTerminal } from "#api/runs.ts";
import { parseTime } from "#api/time.ts";
import { hasEnded } from "#api/workflow-phases.ts";
import type { ControllerDeps, Informers } from "#controllers/informers.ts";
import { type Controller, createController } from "#kube/controller.ts";
import type { Informer } from "#kube/informer.ts";
import { after, done, type Outcome } from "#kube/outcome.ts";
import type { ResourceType } from "#kube/resource.ts";
import { isConflict, isNotFound } from "#kube/transport.ts";

/** An object that is deleted some time after its end. */
type Finishable = Resource<{ ttlSecondsAfterFinished?: number }, { phase: string; completionTime?: string }>;

/** Milliseconds until the object is to be deleted; zero or less means now. */
export function timeLeft(ttlSeconds: number, finishedAt: number, now: number): number {
  return finishedAt + ttlSeconds * 1000 - now;
}

/**
 * Deletes Runs `ttlSecondsAfterFinished` after their end; those of a WorkflowRun go with it. The end is when this
 * controller saw it: `completionTime` is by the clock of an agent, which may be wrong, and counts only for ends before
 * this controller was there.
 */
export function createRunTtl(deps: ControllerDeps, informers: Informers): Controller {
  const seen = new Map<string, number>();
  informers.runs.onChange((old, next) => {
    const uid = next?.metadata.uid ?? old?.metadata.uid ?? "";
    if (next === undefined) seen.delete(uid);
    else if (old !== undefined && !isTerminal(old.status?.phase) && isTerminal(next.status?.phase) && !isStep(next)) {
      seen.set(uid, deps.clock.now());
    }
  });
  return createTtl("run-ttl", deps, runs, informers.runs, (run) => {
    if (!isTerminal(run.status?.phase) || isStep(run)) return undefined;
    return seen.get(run.metadata.uid ?? "") ?? parseTime(run.status?.completionTime);
  });
}

const isStep = ({ metadata }: Run) =>
  metadata.ownerReferences?.some(({ controller, kind }) => controller && kind === workflowRuns.kind) ?? false;

/**
 * Deletes WorkflowRuns `ttlSecondsAfterFinished` after their end. The time counts from when this controller first saw
 * the end, if that is later: after an outage people still find what ended meanwhile.
 */
export function createWorkflowRunTtl(deps: ControllerDeps, informers: Informers): Controller {
  const firstSeen = new Map<string, number>();
  informers.workflowRuns.onChange((old, next) => {
    if (next === undefined && old?.metadata.uid !== undefined) firstSeen.delete(old.metadata.uid);
  });
  return createTtl("workflow-run-ttl", deps, workflowRuns, informers.workflowRuns, (run) => {
    const uid = run.metadata.uid ?? "";
    const completed = parseTime(run.status?.completionTime);
    if (!hasEnded(run.status?.phase) || completed === undefined) {
      firstSeen.delete(uid);
      return undefined;
    }
    const seen = firstSeen.get(uid) ?? deps.clock.now();
    firstSeen.set(uid, seen);
    // What was made of these actions is known from here alone, until they are told.
    if ((run.status?.appliedActions ?? []).length > 0) return undefined;
    return Math.max(completed, seen);
  });
}

function createTtl<T extends Finishable>(
  name: string,
  deps: ControllerDeps,
  resource: ResourceType<T>,
  informer: Informer<T>,
  /** When it ended, milliseconds since the epoch; undefined while it has not, or is not ours to delete. */
  finishedAt: (object: T) => number | undefined,
): Controller {
  const client = deps.client.of(resource);
  const controller = createController({ name, reconcile, workers: 4, ...deps });
  informer.onChange((_, next) => {
    if (next?.spec.ttlSecondsAfterFinished !== undefined && finishedAt(next) !== undefined) {
      controller.enqueue(keyOf(next));
    }
  });

  async function reconcile(key: string): Promise<Outcome> {
    const cached = informer.get(key);
    if (cached === undefined || dueIn(cached) === undefined) return done;
    const waiting = dueIn(cached) ?? 0;
    if (waiting > 0) return after(waiting, "TTL");
    try {
      // Deletion is for ever: what decides is the object as it is now.
      const live = await client.get(cached.metadata);
      const left = live.metadata.uid === cached.metadata.uid ? dueIn(live) : undefined;
      if (left === undefined) return done;
      if (left > 0) return after(left, "TTL");
      const { uid, resourceVersion } = live.metadata;
      await client.delete(live.metadata, { preconditions: { uid, resourceVersion }, propagationPolicy: "Background" });
      informer.noteDelete(live);
      return done;
    } catch (error) {
      if (isNotFound(error)) return done;
      if (isConflict(error)) return after(0, "changed while it was deleted");
      throw error;
    }
  }

  function dueIn(object: T): number | undefined {
    const finished = finishedAt(object);
    const { ttlSecondsAfterFinished: ttl } = object.spec;
    if (finished === undefined || ttl === undefined || object.metadata.deletionTimestamp !== undefined)
      return undefined;
    return timeLeft(ttl, finished, deps.clock.now());
  }

  return controller;
}
