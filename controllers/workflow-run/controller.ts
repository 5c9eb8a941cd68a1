import type { PersistentWorkspace } from "#api/kinds/persistent-workspace.ts";
import type { Run } from "#api/kinds/run.ts";
import type { AppliedAction, WorkflowRun, WorkflowRunStatus } from "#api/kinds/workflow-run.ts";
import { type KubeObject, keyOf } from "#api/meta.ts";
import { persistentWorkspaces, runs, workflowRuns } from "#api/resources.ts";
import { withStatus } from "#api/status.ts";
import { hasEnded } from "#api/workflow-phases.ts";
import { lookAgainMs } from "#controllers/behind.ts";
import type { ControllerDeps, Informers } from "#controllers/informers.ts";
import { tell, workflowEnd } from "#controllers/trouble.ts";
import { type Controller, createController } from "#kube/controller.ts";
import { drive } from "#kube/drive.ts";
import type { Informer } from "#kube/informer.ts";
import { runLanes } from "#kube/lanes.ts";
import { orNothing } from "#kube/or-nothing.ts";
import { after, done, type Outcome, retry } from "#kube/outcome.ts";
import type { ResourceClient } from "#kube/resource.ts";
import { isAlreadyExists, isConflict, isNotFound, StatusError } from "#kube/transport.ts";
import { isActive } from "#machines/derive.ts";
import { newJob } from "#machines/job.ts";
import { clip } from "#machines/lib/text.ts";
import { isChildOf } from "#workflows/child-meta.ts";
import { childWorkspace } from "#workflows/child-workspace.ts";
import { maxLevels } from "#workflows/uses.ts";
import { memberOf } from "#workflows/values.ts";
import { createActionDesk } from "./actions/desk.ts";
import { advance, type Effect, stepOf } from "./advance.ts";
import { buildRun } from "./build-run.ts";
import { namedChildren, namedRuns, namedWorkspaces } from "./children.ts";
import { deadlines } from "./deadlines.ts";
import { followUps, isUnasked, lacksTtl } from "./follow-ups.ts";
import { type JobContext, jobContext, runtimeNameOf } from "./job-context.ts";
import { buildCall } from "./observe-call.ts";
import { neverClaimed } from "./observe-step.ts";
import type { Found, Seen, Source } from "./seen.ts";
import { createSources } from "./source.ts";
import { deprecatedUse } from "./spec-fields.ts";
import { placeOf } from "./step-place.ts";

export interface WorkflowSettings {
  /** TTL that the workspace of a job gets when the job is over, in seconds. */
  readonly workspaceTtlSeconds: number;
  /** Whether spec.shutdown, and changes of spec.suspend after the start, are obeyed; default: they are. */
  readonly deprecatedFields?: "honour" | "ignore";
}

/** What a process knows of a run beyond what is stored; losing it costs a little time and nothing else. */
interface Memory {
  /** When child Runs were first seen, by UID. */
  readonly sightings: Map<string, number>;
  /** Children that the API server would not have, by name. */
  readonly refused: Map<string, string>;
  /** Jobs at work after the last pass. */
  activeJobs: number;
}

/**
 * What happens to the children of a run with so many jobs at work is gathered for so many milliseconds, so that not each
 * of hundreds of events costs a write of a large status. A run with fewer jobs goes on at once.
 */
const wideJobs = 8;
const gatheringMs = 100;

/**
 * Requests for children of one run at a time. Jobs do not wait for each other's: one whose child the API server does not take
 * holds up nobody else. As many as the clients keep connections to the API server.
 */
const effectsAtOnce = 16;

/** Walks every WorkflowRun through its graph. It is the only writer of WorkflowRun status. */
export function createWorkflowRunController(
  deps: ControllerDeps,
  informers: Informers,
  settings: WorkflowSettings,
): Controller {
  const { client, clock } = deps;
  const runClient = client.of(runs);
  const workspaceClient = client.of(persistentWorkspaces);
  const workflowRunClient = client.of(workflowRuns);
  const sources = createSources(deps, informers);
  const desk = createActionDesk(deps, informers);
  const memories = new Map<string, Memory>();
  const controller = createController({ name: "workflow-run", reconcile, workers: 8, ...deps });

  informers.workflowRuns.onChange((old, next) => {
    wakeOwner(next ?? old);
    if (next !== undefined) {
      controller.enqueue(keyOf(next));
      wakeChildren(next);
    } else if (old?.metadata.uid !== undefined) forget(old.metadata.uid);
  });
  informers.runs.onChange((old, next) => wakeOwner(next ?? old));
  informers.workspaces.onChange((old, next) => wakeOwner(next ?? old));
  informers.workflowActions.onChange((_, next) => {
    if (next === undefined || (next.status?.phase ?? "Pending") !== "Pending") return;
    controller.enqueue(`${next.metadata.namespace}/${next.spec.workflowRef.name}`);
  });
  informers.runtimes.onChange((old, next) => {
    if (old !== undefined || next === undefined) return;
    // A new Runtime is rare, and any run of its namespace may wait for it.
    for (const run of informers.workflowRuns.values()) {
      if (run.metadata.namespace === next.metadata.namespace && !hasEnded(run.status?.phase)) {
        controller.enqueue(keyOf(run));
      }
    }
  });

  /** A job that is a WorkflowRun of its own ends when its job is to, and nothing begins there while one above is suspended. */
  function wakeChildren(run: WorkflowRun, level = 1): void {
    // Owners may be made to go round in a circle by hand.
    if (level >= maxLevels) return;
    for (const child of informers.workflowRuns.byIndex("owner", run.metadata.uid ?? "")) {
      if (hasEnded(child.status?.phase)) continue;
      controller.enqueue(keyOf(child));
      wakeChildren(child, level + 1);
    }
  }

  /** Whether a run, or one that it is a job of, is suspended. */
  function isHeld(run: WorkflowRun, level = 1): boolean {
    if (run.status?.suspended === true) return true;
    const parent = level >= maxLevels ? undefined : parentOf(run);
    return parent !== undefined && isHeld(parent, level + 1);
  }

  /** The run whose job this one is; undefined also when it is gone, and the garbage collector will come. */
  function parentOf(run: WorkflowRun): WorkflowRun | undefined {
    const owner = ownerOf(run);
    const found = owner && informers.workflowRuns.get(`${run.metadata.namespace}/${owner.name}`);
    return found?.metadata.uid === owner?.uid ? found : undefined;
  }

  function wakeOwner(child: KubeObject | undefined): void {
    const owner = ownerOf(child);
    if (owner === undefined) return;
    const isWide = (memories.get(owner.uid)?.activeJobs ?? 0) >= wideJobs;
    controller.enqueue(`${child?.metadata.namespace}/${owner.name}`, { afterMs: isWide ? gatheringMs : 0 });
  }

  function forget(uid: string): void {
    desk.forget(uid);
    memories.delete(uid);
    sources.forget(uid);
  }

  function memoryOf(uid: string): Memory {
    let memory = memories.get(uid);
    if (memory === undefined) {
      memory = { sightings: new Map(), refused: new Map(), activeJobs: 0 };
      memories.set(uid, memory);
    }
    return memory;
  }

  function reconcile(key: string, signal: AbortSignal): Promise<Outcome> {
    return drive<Seen, WorkflowRunStatus, Effect | FollowUp | AnswerActions>(
      {
        gather: () => gather(key),
        step: (seen, now) => {
          const { status, changed, effects, answers, applied } = advance(seen, now);
          memoryOf(seen.run.metadata.uid ?? "").activeJobs = Object.values(status.jobs ?? {}).filter(isActive).length;
          // Of actions that changed nothing there is no record: they are answered all the same.
          const answer: AnswerActions = {
            type: "answer",
            applied,
            answers: [...(status.appliedActions ?? []), ...(changed ? [] : answers)],
          };
          return { status, changed, effects: [answer, ...effects, { type: "followUp", status }] };
        },
        persist: async ({ run }, status) => {
          const written = await workflowRunClient.update(withStatus(run, status), "status");
          informers.workflowRuns.noteWrite(written, run.metadata.resourceVersion);
          const end = workflowEnd(run.status, status);
          if (end !== undefined) tell(deps.recorder, workflowRuns, run, end);
          for (const field of deprecatedUse(run.status, status)) warnOfField(deps, run, field);
        },
        run: async (effect, seen) => {
          if (effect.type === "followUp") return follow(seen, effect.status);
          if (effect.type === "answer") {
            for (const { action, name } of effect.applied) {
              const message = `${action} was applied, as WorkflowAction ${name} asks`;
              tell(deps.recorder, workflowRuns, seen.run, { type: "Normal", reason: "WorkflowActionApplied", message });
            }
            return desk.tell(stored(seen), effect.answers);
          }
          return perform(effect, seen);
        },
        lanes: {
          laneOf: (effect) =>
            effect.type === "followUp" || effect.type === "answer" ? effect.type : `job ${effect.job}`,
          limit: effectsAtOnce,
        },
        nextWake,
      },
      clock,
      signal,
    );
  }

  async function gather(key: string): Promise<Seen | undefined> {
    const cached = informers.workflowRuns.get(key);
    if (cached === undefined || cached.metadata.deletionTimestamp !== undefined) return undefined;
    const isBusy = desk.isBusy(cached);
    // What an action is told is for ever, also when nothing is written that could conflict: so it is decided on what is.
    const run = isBusy ? await orNothing(workflowRunClient.get(cached.metadata)) : cached;
    if (run === undefined || run.metadata.uid !== cached.metadata.uid) return undefined;
    const { uid = "" } = run.metadata;
    const ownRuns = informers.runs.byIndex("owner", uid);
    const ownWorkspaces = informers.workspaces.byIndex("owner", uid);
    if (hasEnded(run.status?.phase) && !ownRuns.some(isUnasked) && !ownWorkspaces.some(lacksTtl) && !isBusy) {
      forget(uid);
      return undefined;
    }
    const memory = memoryOf(uid);
    const ownChildren = informers.workflowRuns.byIndex("owner", uid);
    for (const child of [...ownRuns, ...ownChildren]) {
      const childUid = child.metadata.uid ?? "";
      if (!memory.sightings.has(childUid)) memory.sightings.set(childUid, clock.now());
    }
    const parent = parentOf(run);
    const inbox = await desk.read(run);
    const isRetried = inbox.pending.some(({ spec }) => spec.action === "Retry");
    const isOver = hasEnded(run.status?.phase) && !isRetried;
    const source: Source = isOver ? { kind: "over" } : await sources.of(run);
    const seen: Seen = {
      run,
      source,
      honoursDeprecated: settings.deprecatedFields !== "ignore",
      inbox,
      runs: await find(run, ownRuns, namedRuns(run), informers.runs, runClient),
      workspaces: await find(run, ownWorkspaces, namedWorkspaces(run), informers.workspaces, workspaceClient),
      ...(parent === undefined ? {} : { parent, isHeld: isHeld(parent) }),
      children: await find(run, ownChildren, namedChildren(run), informers.workflowRuns, workflowRunClient),
      runtimeOf: (name) => informers.runtimes.get(`${run.metadata.namespace}/${name}`),
      refused: memory.refused,
      sightings: memory.sightings,
    };
    return seen;
  }

  /**
   * Our children, and what stands under the names that the stored status expects. A name that no cache knows is read
   * live, since what follows from its absence cannot be taken back.
   */
  async function find<T extends KubeObject>(
    owner: WorkflowRun,
    own: readonly T[],
    names: readonly string[],
    informer: Informer<T>,
    live: ResourceClient<T>,
  ): Promise<Map<string, Found<T>>> {
    const found = new Map<string, Found<T>>(own.map((object) => [object.metadata.name, { kind: "ours", object }]));
    const { namespace } = owner.metadata;
    await Promise.all(
      names
        .filter((name) => !found.has(name))
        .map(async (name) => {
          const object = informer.get(`${namespace}/${name}`) ?? (await orNothing(live.get({ namespace, name })));
          if (object === undefined) found.set(name, { kind: "absent" });
          else found.set(name, isChildOf(object, owner) ? { kind: "ours", object } : { kind: "foreign" });
        }),
    );
    return found;
  }

  async function perform(effect: Effect, seen: Seen): Promise<void> {
    const { namespace } = seen.run.metadata;
    switch (effect.type) {
      case "createSnapshot":
        return sources.freeze(seen.run, effect.name);
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

  /** The WorkflowRun with the status that this pass has stored. */
  const stored = ({ run }: Seen): WorkflowRun => informers.workflowRuns.get(keyOf(run)) ?? run;

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
        controller.enqueue(keyOf(seen.run));
        return false;
      }
      if (!(error instanceof StatusError) || !isRefusal(error)) throw error;
      memoryOf(seen.run.metadata.uid ?? "").refused.set(object.metadata.name, error.message);
      controller.enqueue(keyOf(seen.run));
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
    await patchChild(runClient, informers.runs, run, patch);
  }

  async function follow(seen: Seen, status: WorkflowRunStatus): Promise<void> {
    const { abandoned, unneeded } = followUps(seen, status);
    const spec = { ttlSecondsAfterUnused: settings.workspaceTtlSeconds };
    const tasks = [
      ...abandoned.map((run) => ({ name: run.metadata.name, do: () => cancel(run, seen) })),
      ...unneeded.map((workspace) => ({
        name: workspace.metadata.name,
        do: () =>
          patchChild(workspaceClient, informers.workspaces, workspace, {
            metadata: { uid: workspace.metadata.uid },
            spec,
          }),
      })),
    ];
    await runLanes(tasks, { laneOf: ({ name }) => name, limit: effectsAtOnce }, (task) => task.do());
  }

  function nextWake(status: WorkflowRunStatus, seen: Seen, now: number): Outcome {
    if (status.phase === "Pending" && seen.source.kind === "unfrozen") return after(0, "start from the frozen copy");
    // Actions were looked at all the same: a run whose templates cannot be read can be stopped.
    if (seen.source.kind === "unavailable") return retry(seen.source.error);
    if (hasEnded(seen.run.status?.phase) && !hasEnded(status.phase)) return after(0, "the next attempt begins");
    if (desk.hasTold(stored(seen))) return after(0, "records of actions that are answered");
    const times = deadlines(seen, status, now);
    if (!hasEnded(status.phase) && isBehind(seen)) times.push(now + lookAgainMs);
    return times.length === 0
      ? done
      : after(Math.min(...times) - now, "a timeout, a next attempt, or a child to write down");
  }

  /** Whether a child was read live that the caches do not know. */
  function isBehind({ run, runs: ownRuns, workspaces, children }: Seen): boolean {
    const knows = (informer: Informer<KubeObject>, found: Iterable<[string, Found<unknown>]>) =>
      [...found].every(([name, { kind }]) => kind !== "ours" || informer.get(`${run.metadata.namespace}/${name}`));
    return (
      !knows(informers.runs, ownRuns) ||
      !knows(informers.workspaces, workspaces) ||
      !knows(informers.workflowRuns, children)
    );
  }

  return controller;
}

/** Bound of `spec.termination.message` of a Run. */
const maxTerminationMessage = 1024;

function warnOfField({ recorder, tally }: ControllerDeps, run: WorkflowRun, field: "suspend" | "shutdown"): void {
  tally?.count("deprecated_fields_total", { field: `spec.${field}` });
  const verbs = field === "suspend" ? "Suspend or Resume" : "Stop or Terminate";
  const message = `spec.${field} of a WorkflowRun that has begun is deprecated: create a WorkflowAction with ${verbs}`;
  tell(recorder, workflowRuns, run, { type: "Warning", reason: "DeprecatedField", message });
}

/** The WorkflowRun that an object is a child of. */
function ownerOf(child: KubeObject | undefined) {
  const owner = child?.metadata.ownerReferences?.find((reference) => reference.controller);
  return owner?.kind === workflowRuns.kind ? owner : undefined;
}

interface AnswerActions {
  readonly type: "answer";
  /** Those that changed the run. */
  readonly applied: readonly AppliedAction[];
  readonly answers: readonly AppliedAction[];
}

interface FollowUp {
  readonly type: "followUp";
  readonly status: WorkflowRunStatus;
}

/** Answers that will not change by asking again: the object is bad, or this controller may not create it. */
const isRefusal = (error: StatusError) =>
  error.code === 400 || error.code === 403 || error.code === 413 || error.code === 422;

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
