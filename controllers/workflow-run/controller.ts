import type { AppliedAction, WorkflowRun, WorkflowRunStatus } from "#api/kinds/workflow-run.ts";
import { type KubeObject, keyOf } from "#api/meta.ts";
import { persistentWorkspaces, runs, workflowRuns } from "#api/resources.ts";
import { withStatus } from "#api/status.ts";
import { hasEnded } from "#api/workflow-phases.ts";
import { lookAgainMs } from "#controllers/behind.ts";
import type { ControllerDeps, Informers } from "#controllers/informers.ts";
import { gatesWait, tell, workflowEnd } from "#controllers/trouble.ts";
import { type Controller, createController } from "#kube/controller.ts";
import { drive } from "#kube/drive.ts";
import { inSlices } from "#kube/in-slices.ts";
import type { Informer } from "#kube/informer.ts";
import { orNothing } from "#kube/or-nothing.ts";
import { after, done, type Outcome, retry } from "#kube/outcome.ts";
import type { ResourceClient } from "#kube/resource.ts";
import { isActive } from "#machines/derive.ts";
import { isChildOf } from "#workflows/child-meta.ts";
import { createActionDesk } from "./actions/desk.ts";
import { advancing, type Effect } from "./advance.ts";
import { namedChildren, namedRuns, namedWorkspaces } from "./children.ts";
import { deadlines } from "./deadlines.ts";
import { createEffects, effectsAtOnce } from "./effects.ts";
import { familyOf, ownerOf, waitsForResume } from "./family.ts";
import { isUnasked, lacksTtl } from "./follow-ups.ts";
import type { Found, Seen, Source } from "./seen.ts";
import { createSources } from "./source.ts";
import { deprecatedUse } from "./spec-fields.ts";

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
  const family = familyOf(informers);
  const effects = createEffects(deps, informers, {
    workspaceTtlSeconds: settings.workspaceTtlSeconds,
    freeze: sources.freeze,
    onRefused: (run, name, message) => memoryOf(run.metadata.uid ?? "").refused.set(name, message),
    waitingActions: desk.waiting,
    again: (run) => controller.enqueue(keyOf(run)),
  });
  const controller = createController({ name: "workflow-run", reconcile, workers: 8, ...deps });

  informers.workflowRuns.onChange((old, next) => {
    wakeOwner(next ?? old);
    if (next !== undefined) {
      controller.enqueue(keyOf(next));
      for (const child of family.below(next)) controller.enqueue(keyOf(child));
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
        step: async (seen, now) => {
          const pass = await inSlices(advancing(seen, now), clock);
          const { status, changed, effects: due, answers, applied } = pass;
          memoryOf(seen.run.metadata.uid ?? "").activeJobs = Object.values(status.jobs ?? {}).filter(isActive).length;
          // Of actions that changed nothing there is no record: they are answered all the same.
          const answer: AnswerActions = {
            type: "answer",
            applied,
            answers: [...(status.appliedActions ?? []), ...(changed ? [] : answers)],
          };
          return { status, changed, effects: [answer, ...due, { type: "followUp", status }] };
        },
        persist: async ({ run }, status) => {
          const written = await workflowRunClient.update(withStatus(run, status), "status");
          informers.workflowRuns.noteWrite(written, run.metadata.resourceVersion);
          const end = workflowEnd(run.status, status);
          for (const said of [gatesWait(run.status, status), end]) {
            if (said !== undefined) tell(deps.recorder, workflowRuns, run, said);
          }
          for (const field of deprecatedUse(run.status, status)) warnOfField(deps, run, field);
        },
        run: async (effect, seen) => {
          if (effect.type === "followUp") return effects.follow(seen, effect.status);
          if (effect.type === "answer") {
            for (const { action, name } of effect.applied) {
              const message = `${action} was applied, as WorkflowAction ${name} asks`;
              tell(deps.recorder, workflowRuns, seen.run, { type: "Normal", reason: "WorkflowActionApplied", message });
            }
            return desk.tell(effects.stored(seen), effect.answers, seen.inbox);
          }
          return effects.perform(effect, seen);
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
    const parent = family.parentOf(run);
    const holder = family.holderOf(run);
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
      ...(parent !== undefined && { parent }),
      ...(holder !== undefined && { heldBy: holder.metadata.name }),
      waitingBelow: () => [...family.below(run)].filter(waitsForResume).map(({ metadata }) => metadata.name),
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

  function nextWake(status: WorkflowRunStatus, seen: Seen, now: number): Outcome {
    if (status.phase === "Pending" && seen.source.kind === "unfrozen") return after(0, "start from the frozen copy");
    // Actions were looked at all the same: a run whose templates cannot be read can be stopped.
    if (seen.source.kind === "unavailable") return retry(seen.source.error);
    if (hasEnded(seen.run.status?.phase) && !hasEnded(status.phase)) return after(0, "the next attempt begins");
    if (desk.hasTold(effects.stored(seen))) return after(0, "records of actions that are answered");
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

function warnOfField({ recorder, tally }: ControllerDeps, run: WorkflowRun, field: "suspend" | "shutdown"): void {
  tally?.count("deprecated_fields_total", { field: `spec.${field}` });
  const verbs = field === "suspend" ? "Suspend or Resume" : "Stop or Terminate";
  const message = `spec.${field} of a WorkflowRun that has begun is deprecated: create a WorkflowAction with ${verbs}`;
  tell(recorder, workflowRuns, run, { type: "Warning", reason: "DeprecatedField", message });
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
