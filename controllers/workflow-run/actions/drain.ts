import type { WorkflowAction, WorkflowActionVerb } from "#api/kinds/workflow-action.ts";
import { workflowActionVerbs } from "#api/kinds/workflow-action.ts";
import type { AppliedAction } from "#api/kinds/workflow-run.ts";
import { timestamp } from "#api/time.ts";
import { hasEnded } from "#api/workflow-phases.ts";
import { clip } from "#machines/lib/text.ts";
import type { WorkflowRunSnapshot } from "#machines/workflow-run.ts";
import { resume } from "./resume.ts";
import { retry } from "./retry.ts";
import { stop } from "./stop.ts";
import { suspend } from "./suspend.ts";
import { type ApplyContext, refuse, type Verdict } from "./verdict.ts";

export interface Drained {
  readonly snapshot: WorkflowRunSnapshot;
  /** What was made of each action, in their order. */
  readonly answers: readonly AppliedAction[];
  /** Those of them that changed the run. */
  readonly applied: readonly AppliedAction[];
}

type Verb = (action: WorkflowAction, context: ApplyContext) => Verdict;

const verbs: Readonly<Partial<Record<WorkflowActionVerb, Verb>>> = {
  Suspend: suspend,
  Resume: resume,
  Stop: stop,
  Terminate: stop,
  Retry: retry,
};

/**
 * Applies actions to a run in memory, one after the other, each wholly or not at all. Nothing of it counts before the status is
 * stored together with the answers.
 */
export function drain(
  snapshot: WorkflowRunSnapshot,
  actions: readonly WorkflowAction[],
  context: Omit<ApplyContext, "snapshot">,
): Drained {
  const answers: AppliedAction[] = [];
  const applied: AppliedAction[] = [];
  let current = snapshot;
  for (const action of actions) {
    // Nothing overtakes: those behind it wait, too.
    if (context.isGraphUnavailable && needsGraph(action, current)) break;
    // An end is stored, and told, before another attempt takes it back.
    if (action.spec.action === "Retry" && current.hasTag("terminal") && !hasEnded(context.run.status?.phase)) break;
    const verdict = apply(action, { ...context, snapshot: current });
    const answer: AppliedAction = {
      uid: action.metadata.uid ?? "",
      name: action.metadata.name,
      action: action.spec.action,
      at: timestamp(context.now),
      outcome: verdict.outcome,
      ...(verdict.outcome === "Failed" && { reason: verdict.reason }),
      message: clip(verdict.message),
    };
    answers.push(answer);
    if (verdict.outcome === "Failed" || verdict.snapshot === current) continue;
    applied.push(answer);
    const isReopened = current.hasTag("terminal");
    current = verdict.snapshot;
    // A write may reopen or move on, not both: what comes behind a Retry waits for the next pass.
    if (isReopened) break;
  }
  return { snapshot: current, answers, applied };
}

function apply(action: WorkflowAction, context: ApplyContext): Verdict {
  const verb = workflowActionVerbs.find((each) => each === action.spec.action);
  const effect = verb && verbs[verb];
  if (effect === undefined) {
    const meant = workflowActionVerbs.find((each) => each.toLowerCase() === action.spec.action.toLowerCase());
    const advice = meant === undefined ? "" : `; did you mean ${meant}?`;
    return refuse("UnsupportedAction", `this controller does not know the action ${action.spec.action}${advice}`);
  }
  if (verb !== "Retry" && context.snapshot.hasTag("terminal")) {
    const { value, context: fields } = context.snapshot;
    const why = fields.status.reason === undefined ? "" : ` (${fields.status.reason})`;
    return refuse("WorkflowCompleted", `WorkflowRun ${context.run.metadata.name} has ended as ${value}${why}`);
  }
  return effect(action, context);
}

/** What becomes of gates, and of a Retry, cannot be told without the graph. */
function needsGraph({ spec }: WorkflowAction, { context }: WorkflowRunSnapshot): boolean {
  if (spec.action === "Retry") return true;
  const hasGates = Object.values(context.status.jobs ?? {}).some(({ phase }) => phase === "Suspended");
  return hasGates && (spec.action === "Resume" || (spec.stop?.nodeFieldSelector ?? "") !== "");
}

/** Order in which actions are applied: by age, and of one second by name. */
export function inOrder(actions: readonly WorkflowAction[]): WorkflowAction[] {
  const key = ({ metadata }: WorkflowAction) => [metadata.creationTimestamp ?? "", metadata.name] as const;
  return [...actions].sort((a, b) => {
    const [timeA, nameA] = key(a);
    const [timeB, nameB] = key(b);
    if (timeA !== timeB) return timeA < timeB ? -1 : 1;
    return nameA < nameB ? -1 : 1;
  });
}
