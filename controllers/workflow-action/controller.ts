import type { WorkflowAction } from "#api/kinds/workflow-action.ts";
import type { WorkflowRun } from "#api/kinds/workflow-run.ts";
import { keyOf } from "#api/meta.ts";
import { workflowActions, workflowRuns } from "#api/resources.ts";
import { parseTime, timestamp } from "#api/time.ts";
import { lookAgainMs } from "#controllers/behind.ts";
import type { ControllerDeps, Informers } from "#controllers/informers.ts";
import { type Controller, createController } from "#kube/controller.ts";
import { orNothing } from "#kube/or-nothing.ts";
import { after, done, type Outcome } from "#kube/outcome.ts";
import { isConflict, isNotFound } from "#kube/transport.ts";
import { createAnswering } from "./answer.ts";

export interface ActionSettings {
  /** How long an action is kept after it was answered, in seconds. */
  readonly ttlSeconds: number;
}

const hasEnded = ({ status }: WorkflowAction) => status?.phase === "Succeeded" || status?.phase === "Failed";

/** Why an action cannot have this WorkflowRun as its target; undefined when it can. */
export function whyNotFound({ spec }: WorkflowAction, target: WorkflowRun | undefined): string | undefined {
  const { name, uid } = spec.workflowRef;
  if (target === undefined) return `there is no WorkflowRun ${name} in this namespace`;
  if (uid !== undefined && uid !== "" && uid !== target.metadata.uid) {
    return `the WorkflowRun ${name} of now has the uid ${target.metadata.uid}, not ${uid}; leave workflowRef.uid out to mean whichever has the name`;
  }
  return target.metadata.deletionTimestamp === undefined ? undefined : `the WorkflowRun ${name} is being deleted`;
}

/**
 * Answers WorkflowActions that have no target, and deletes those that were answered long ago. An action with a target is the
 * business of the controller of WorkflowRuns, which is woken by the same events.
 */
export function createWorkflowActionController(
  deps: ControllerDeps,
  informers: Informers,
  { ttlSeconds }: ActionSettings,
): Controller {
  const { client, clock } = deps;
  const actions = client.of(workflowActions);
  const answering = createAnswering(deps, informers);
  const controller = createController({ name: "workflow-action", reconcile, workers: 4, ...deps });
  informers.workflowActions.onChange((_, next) => {
    if (next !== undefined) controller.enqueue(keyOf(next));
  });
  informers.workflowRuns.onChange((old, next) => {
    const run = next ?? old;
    const isGoing = next === undefined || next.metadata.deletionTimestamp !== undefined;
    if (run === undefined || !(isGoing || old?.metadata.uid !== next.metadata.uid)) return;
    for (const action of informers.workflowActions.byIndex("target", keyOf(run))) {
      if (!hasEnded(action)) controller.enqueue(keyOf(action));
    }
  });

  async function reconcile(key: string): Promise<Outcome> {
    const action = informers.workflowActions.get(key);
    if (action === undefined || action.metadata.deletionTimestamp !== undefined) return done;
    return hasEnded(action) ? collect(action) : bind(action);
  }

  async function bind(action: WorkflowAction): Promise<Outcome> {
    const { namespace } = action.metadata;
    const { name } = action.spec.workflowRef;
    if (whyNotFound(action, informers.workflowRuns.get(`${namespace}/${name}`)) === undefined) return done;
    // A cache may be behind, and the answer is for ever.
    const target = await orNothing(client.of(workflowRuns).get({ name, namespace }));
    const { uid = "" } = action.metadata;
    // A run that is being deleted still says what was made of the action.
    const record = target?.status?.appliedActions?.find((each) => each.uid === uid);
    const message = whyNotFound(action, target);
    if (message === undefined) return after(lookAgainMs, "the cache does not know the target yet");
    const live = await answering.find({ uid, name: action.metadata.name }, namespace);
    if (live === undefined) return done;
    const at = timestamp(clock.now());
    await answering.answer(live, record ?? { at, outcome: "Failed", reason: "WorkflowNotFound", message });
    return done;
  }

  /** When it was answered; made by hand it may say nothing of that. */
  const leftOf = ({ metadata, status }: WorkflowAction): number => {
    const ended = parseTime(status?.completionTime) ?? parseTime(metadata.creationTimestamp) ?? 0;
    return ended + ttlSeconds * 1000 - clock.now();
  };

  async function collect(cached: WorkflowAction): Promise<Outcome> {
    const left = leftOf(cached);
    if (left > 0) return after(left, "TTL");
    try {
      const live = await actions.get(cached.metadata);
      if (live.metadata.uid !== cached.metadata.uid || !hasEnded(live)) return done;
      if (leftOf(live) > 0) return after(leftOf(live), "TTL");
      const { uid, resourceVersion } = live.metadata;
      await actions.delete(live.metadata, { preconditions: { uid, resourceVersion } });
      informers.workflowActions.noteDelete(live);
      return done;
    } catch (error) {
      if (isNotFound(error)) return done;
      if (isConflict(error)) return after(0, "changed while it was deleted");
      throw error;
    }
  }

  return controller;
}
