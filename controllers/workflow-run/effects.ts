import type { PersistentWorkspace } from "#api/kinds/persistent-workspace.ts";
import type { Run } from "#api/kinds/run.ts";
import type { WorkflowRun, WorkflowRunStatus } from "#api/kinds/workflow-run.ts";
import { type KubeObject, keyOf } from "#api/meta.ts";
import { persistentWorkspaces, runs, workflowRuns } from "#api/resources.ts";
import type { ControllerDeps, Informers } from "#controllers/informers.ts";
import { tell } from "#controllers/trouble.ts";
import type { Informer } from "#kube/informer.ts";
import { runLanes } from "#kube/lanes.ts";
import { orNothing } from "#kube/or-nothing.ts";
import type { ResourceClient } from "#kube/resource.ts";
import { isAlreadyExists, isConflict, isForbidden, isNotFound, isOverQuota, StatusError } from "#kube/transport.ts";
import { newJob } from "#machines/job.ts";
import { clip } from "#machines/lib/text.ts";
import { isChildOf } from "#workflows/child-meta.ts";
import { childWorkspace } from "#workflows/child-workspace.ts";
import { memberOf } from "#workflows/values.ts";
import { type Effect, stepOf } from "./advance.ts";
import { buildRun } from "./build-run.ts";
import { followUps } from "./follow-ups.ts";
import { type JobContext, jobContext, runtimeNameOf } from "./job-context.ts";
import { buildCall } from "./observe-call.ts";
import { neverClaimed } from "./observe-step.ts";
import type { Seen } from "./seen.ts";
import { placeOf } from "./step-place.ts";

export interface EffectsWiring {
  /** TTL that the workspace of a job gets when the job is over, in seconds. */
  readonly workspaceTtlSeconds: number;
  /** Stores the frozen copy of the templates of a run. */
  readonly freeze: (run: WorkflowRun, name: string) => Promise<void>;
  /** The API server will not have this child of the run, however often it is asked. */
  readonly onRefused: (run: WorkflowRun, childName: string, message: string) => void;
  /** UIDs of the actions that wait for a pass over the run, as far as the cache knows. */
  readonly waitingActions: (run: WorkflowRun) => readonly string[];
  /** There is something for the next pass that no watch tells. */
  readonly again: (run: WorkflowRun) => void;
}

/** The requests that follow from a status that is stored. All of them can be made again without harm. */
export interface Effects {
  /** One effect of a pass. @throws what keeps it from being done at the moment; refusals are no errors. */
  perform(effect: Effect, seen: Seen): Promise<void>;
  /** What has to follow from any status, also one that was stored before a crash: see follow-ups.ts. */
  follow(seen: Seen, status: WorkflowRunStatus): Promise<void>;
  /** The WorkflowRun with the status that this pass has stored. */
  stored(seen: Seen): WorkflowRun;
}

/**
 * Requests for children of one run at a time. Jobs do not wait for each other's: one whose child the API server does not take
 * holds up nobody else. As many as the clients keep connections to the API server.
 */
export const effectsAtOnce = 16;

/** @returns what the workflow-run controller asks of the API server for the children of its runs. */
export function createEffects(
  { client, clock, recorder }: ControllerDeps,
  informers: Informers,
  wiring: EffectsWiring,
): Effects {
  const runClient = client.of(runs);
  const workspaceClient = client.of(persistentWorkspaces);
  const workflowRunClient = client.of(workflowRuns);

  return { perform, follow, stored };

  async function perform(effect: Effect, seen: Seen): Promise<void> {
    const { namespace } = seen.run.metadata;
    switch (effect.type) {
      case "createSnapshot":
        return wiring.freeze(seen.run, effect.name);
      case "createWorkspace": {
        const context = contextOf({ ...seen, run: stored(seen) }, effect.job);
        if (context === undefined) return;
        const { attempt, collision } = effect;
        const runtime = runtimeNameOf(context);
        if (!runtime.ok) return;
        const job = { id: effect.job, runsOn: runtime.value };
        const workspace = childWorkspace({ owner: seen.run, job, jobAttempt: attempt, collision });
        if (await create(seen, workspace, workspaceClient, informers.workspaces)) return;
        // No Run of ours may name somebody else's workspace: the effects after this one wait for the next pass.
        const taken = await orNothing(workspaceClient.get({ namespace, name: workspace.metadata.name }));
        if (taken !== undefined && !isChildOf(taken, seen.run)) {
          throw new Error(`a PersistentWorkspace named ${workspace.metadata.name} belongs to somebody else`);
        }
        return;
      }
      case "createRun": {
        const run = plannedRun(seen, effect);
        if (run !== undefined) await create(seen, run, runClient, informers.runs);
        return;
      }
      case "createWorkflowRun": {
        const run = stored(seen);
        const context = contextOf({ ...seen, run }, effect.job);
        const child = context && buildCall(context, memberOf(run.status?.jobs, effect.job) ?? newJob());
        if (child !== undefined) await create(seen, child, workflowRunClient, informers.workflowRuns);
        return;
      }
      case "deleteRun": {
        const run = await orNothing(runClient.get({ namespace, name: effect.runName }));
        if (run !== undefined && isChildOf(run, seen.run) && neverClaimed(run)) await deleteUnclaimed(run);
        return;
      }
      case "cancelRun": {
        const run = await orNothing(runClient.get({ namespace, name: effect.runName }));
        if (run !== undefined && isChildOf(run, seen.run)) await cancel(run, seen);
        return;
      }
      default:
        effect satisfies never;
    }
  }

  function stored({ run }: Seen): WorkflowRun {
    return informers.workflowRuns.get(keyOf(run)) ?? run;
  }

  /** The Run of a step as the status that was just stored names it. */
  function plannedRun(seen: Seen, effect: { job: string; step: string; parent?: string }): Run | undefined {
    const run = stored(seen);
    const context = contextOf({ ...seen, run }, effect.job);
    const job = memberOf(run.status?.jobs, effect.job);
    const found = context && job && placeOf(context, job, effect);
    const step = stepOf(job, effect);
    if (context === undefined || job === undefined || found === undefined || step === undefined) return undefined;
    const built = buildRun(context, job, found.place, found.plan, step.collision ?? 0);
    return built.ok ? built.run : undefined;
  }

  function contextOf(seen: Seen, id: string): JobContext | undefined {
    if (seen.source.kind !== "plan" || !seen.source.compiled.ok) return undefined;
    return jobContext(seen, seen.source.compiled.plan, id, clock.now());
  }

  /**
   * Creates a child; false when there is an object of that name, which is looked at in the next pass. One that is
   * refused is remembered for it.
   */
  async function create<T extends KubeObject>(
    seen: Seen,
    object: T,
    live: ResourceClient<T>,
    informer: Informer<T>,
  ): Promise<boolean> {
    try {
      informer.noteWrite(await live.create(object));
    } catch (error) {
      if (isAlreadyExists(error)) {
        // Somebody else's object wakes nobody here.
        wiring.again(seen.run);
        return false;
      }
      if (!(error instanceof StatusError)) throw error;
      if (isOverQuota(error)) {
        // There is room again when something goes, which no watch tells: the pass is repeated, and whoever waits is told why.
        const told = `${object.metadata.name} waits to be created: ${error.message}`;
        tell(recorder, workflowRuns, seen.run, { type: "Warning", reason: "ChildRefused", message: told });
      }
      if (!isRefusal(error)) throw error;
      wiring.onRefused(seen.run, object.metadata.name, error.message);
      wiring.again(seen.run);
    }
    return true;
  }

  async function deleteUnclaimed(run: Run): Promise<void> {
    const { uid, resourceVersion } = run.metadata;
    try {
      await runClient.delete(run.metadata, { preconditions: { uid, resourceVersion } });
      informers.runs.noteDelete(run);
    } catch (error) {
      // Changed meanwhile: it is no step's Run any more, so the follow-up asks it to end.
      if (!isNotFound(error) && !isConflict(error)) throw error;
    }
  }

  async function cancel(run: Run, seen: Seen): Promise<void> {
    if (run.spec.termination !== undefined) return;
    const why = stored(seen).status?.message ?? `WorkflowRun ${seen.run.metadata.name} needs it no longer`;
    const message = clip(why, maxTerminationMessage);
    const patch = { metadata: { uid: run.metadata.uid }, spec: { termination: { mode: "Immediate", message } } };
    try {
      await patchChild(runClient, informers.runs, run, patch);
    } catch (error) {
      // Nothing ends before this does: whoever waits for it is told why.
      if (isForbidden(error)) {
        const told = `Run ${run.metadata.name} cannot be asked to end: ${error.message}`;
        tell(recorder, workflowRuns, seen.run, { type: "Warning", reason: "ChildRefused", message: told });
      }
      throw error;
    }
  }

  async function follow(seen: Seen, status: WorkflowRunStatus): Promise<void> {
    const { abandoned, unneeded } = followUps(seen, status);
    const spec = { ttlSecondsAfterUnused: wiring.workspaceTtlSeconds };
    const known = wiring.waitingActions(seen.run);
    // Whoever acts on a run does not wait until hundreds of workspaces have their TTL: the pass that comes for that goes on with them.
    const isAsked = () => wiring.waitingActions(seen.run).some((uid) => !known.includes(uid));
    const tasks = [
      ...abandoned.map((run) => ({ name: run.metadata.name, do: () => cancel(run, seen) })),
      ...unneeded.map((workspace) => ({
        name: workspace.metadata.name,
        do: async () => {
          if (isAsked()) return;
          const patch = { metadata: { uid: workspace.metadata.uid }, spec };
          await patchChild(workspaceClient, informers.workspaces, workspace, patch);
        },
      })),
    ];
    await runLanes(tasks, { laneOf: ({ name }) => name, limit: effectsAtOnce }, (task) => task.do());
  }
}

/** Bound of `spec.termination.message` of a Run. */
const maxTerminationMessage = 1024;

/** Answers that will not change by asking again: the object is bad, or this controller may not create it. */
const isRefusal = (error: StatusError) => [400, 403, 413, 422].includes(error.code) && !isOverQuota(error);

async function patchChild<T extends PersistentWorkspace | Run>(
  client: ResourceClient<T>,
  informer: Informer<T>,
  child: T,
  patch: unknown,
): Promise<void> {
  try {
    informer.noteWrite(await client.patch(child.metadata, patch));
  } catch (error) {
    if (!isNotFound(error) && !isConflict(error)) throw error; // gone, or a namesake
  }
}
