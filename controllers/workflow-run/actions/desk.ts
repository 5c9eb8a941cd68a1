import type { WorkflowAction } from "#api/kinds/workflow-action.ts";
import { type AppliedAction, maxAppliedActions, type WorkflowRun } from "#api/kinds/workflow-run.ts";
import { keyOf } from "#api/meta.ts";
import { workflowRuns } from "#api/resources.ts";
import type { ControllerDeps, Informers } from "#controllers/informers.ts";
import { createAnswering, stamp, whyNotFound } from "#controllers/workflow-action/index.ts";
import { orNothing } from "#kube/or-nothing.ts";
import { inOrder } from "./drain.ts";

/** What is on the desk for one run. */
export interface Inbox {
  /** Actions to apply, in order: pending when they were read live, and not recorded. */
  readonly pending: readonly WorkflowAction[];
  /** UIDs of recorded actions that need no record any more. */
  readonly told: readonly string[];
}

/** The side of the workflow controller that deals with WorkflowAction objects. */
export interface ActionDesk {
  /** Whether anything is to be done, as far as the caches know. */
  isBusy(run: WorkflowRun): boolean;
  /** UIDs of the actions that wait for a pass, as far as the caches know. */
  waiting(run: WorkflowRun): readonly string[];
  read(run: WorkflowRun): Promise<Inbox>;
  /**
   * Answers actions whose effects, if they have any, are stored; the run first says who acted.
   *
   * @param inbox what this pass has read live: an answer carries the version that was seen then
   */
  tell(run: WorkflowRun, answers: readonly AppliedAction[], inbox: Inbox): Promise<void>;
  /** Whether the status still has records of actions that are answered. */
  hasTold(run: WorkflowRun): boolean;
  /** Forgets what this process knows about a run. */
  forget(runUid: string): void;
}

export function createActionDesk(deps: ControllerDeps, informers: Informers): ActionDesk {
  const runs = deps.client.of(workflowRuns);
  const answering = createAnswering(deps, informers);
  /** By UID of the run: UIDs of actions that were answered, or are gone, as a live read has shown. */
  const told = new Map<string, Set<string>>();
  const toldOf = (run: WorkflowRun) => told.get(run.metadata.uid ?? "") ?? new Set<string>();

  /** Actions that the cache holds for pending and the status does not record. */
  function cached(run: WorkflowRun): WorkflowAction[] {
    const recorded = new Set(run.status?.appliedActions?.map(({ uid }) => uid));
    const isOpen = (action: WorkflowAction) =>
      (action.status?.phase ?? "Pending") === "Pending" &&
      action.metadata.deletionTimestamp === undefined &&
      !recorded.has(action.metadata.uid ?? "") &&
      whyNotFound(action, run) === undefined;
    return informers.workflowActions.byIndex("target", keyOf(run)).filter(isOpen);
  }

  async function actor(run: WorkflowRun, acted: WorkflowAction): Promise<void> {
    const patch = stamp(run, acted);
    if (patch === undefined) return;
    const written = await orNothing(runs.patch(run.metadata, patch));
    if (written !== undefined) informers.workflowRuns.noteWrite(written);
  }

  return {
    isBusy: (run) => (run.status?.appliedActions?.length ?? 0) > 0 || cached(run).length > 0,
    waiting: (run) => cached(run).map(({ metadata }) => metadata.uid ?? ""),
    async read(run) {
      const recorded = run.status?.appliedActions ?? [];
      const done = toldOf(run);
      for (const uid of done) if (!recorded.some((each) => each.uid === uid)) done.delete(uid);
      const room = maxAppliedActions - recorded.filter(({ uid }) => !done.has(uid)).length;
      const { namespace } = run.metadata;
      const pending: WorkflowAction[] = [];
      for (const { metadata } of inOrder(cached(run)).slice(0, room)) {
        // An action is applied once, for ever: that it is pending is not left to a cache.
        const live = await answering.find({ uid: metadata.uid ?? "", name: metadata.name }, namespace);
        if (live !== undefined && (live.status?.phase ?? "Pending") === "Pending") pending.push(live);
      }
      return { pending, told: recorded.map(({ uid }) => uid).filter((uid) => done.has(uid)) };
    },
    async tell(run, answers, { pending }) {
      const done = toldOf(run);
      const fresh = new Map(pending.map((action) => [action.metadata.uid, action]));
      const open: { readonly answer: AppliedAction; readonly live: WorkflowAction }[] = [];
      for (const answer of answers) {
        if (done.has(answer.uid)) continue;
        const live = fresh.get(answer.uid) ?? (await answering.find(answer, run.metadata.namespace));
        if (live !== undefined && (live.status?.phase ?? "Pending") === "Pending") open.push({ answer, live });
        else done.add(answer.uid);
      }
      told.set(run.metadata.uid ?? "", done);
      const acted = open.findLast(({ answer }) => answer.outcome === "Succeeded");
      if (acted !== undefined) await actor(run, acted.live);
      for (const { answer, live } of open) {
        await answering.answer(live, answer);
        done.add(answer.uid);
      }
    },
    hasTold: (run) => run.status?.appliedActions?.some(({ uid }) => toldOf(run).has(uid)) ?? false,
    forget: (runUid) => {
      told.delete(runUid);
    },
  };
}
