import { assign, type SnapshotFrom, setup } from "xstate";
import { setCondition } from "#api/conditions.ts";
import type { WorkflowActionStatus } from "#api/kinds/workflow-action.ts";
import type { Reason } from "#api/reasons.ts";
import { timestamp } from "#api/time.ts";
import type { TransitionMeta } from "./lib/meta.ts";
import { checkStatus } from "./lib/persist.ts";
import { clip } from "./lib/text.ts";

/** Why an action is refused. */
export const actionFailureReasons = [
  "WorkflowNotFound",
  "WorkflowCompleted",
  "WorkflowNotCompleted",
  "NothingToResume",
  "NothingToStop",
  "NothingToRetry",
  "InvalidNodeFieldSelector",
  "InvalidOutputParameters",
  "InvalidInputs",
  "UnsupportedAction",
  "ArtifactMissing",
] as const satisfies readonly Reason[];
export type ActionFailureReason = (typeof actionFailureReasons)[number];

/** `now` is milliseconds since the epoch; the workflow controller fires both. */
export type WorkflowActionEvent =
  /** The WorkflowRun is as it was asked for, and that is stored. */
  | { type: "APPLY"; message: string; now: number }
  /** It cannot be done; the WorkflowRun is as it was. */
  | { type: "REFUSE"; reason: ActionFailureReason; message: string; now: number };

/** A WorkflowAction's status without its phase. */
type ActionFields = Omit<WorkflowActionStatus, "phase">;

export interface WorkflowActionContext {
  /** Everything of the status but the phase, which is the state. */
  status: ActionFields;
}

function ended(
  fields: ActionFields,
  status: "True" | "False",
  end: { reason: Reason; message: string; now: number },
): ActionFields {
  const message = clip(end.message);
  const { reason, now } = end;
  const first = setCondition(fields.conditions, { type: "Succeeded", status, reason, message }, now);
  const conditions = [...setCondition(first, { type: "Finished", status: "True", reason, message }, now)];
  return { ...fields, reason, message, completionTime: timestamp(now), conditions };
}

/** The life of a WorkflowAction: a request, answered once. */
export const workflowActionMachine = setup({
  types: {
    context: {} as WorkflowActionContext,
    events: {} as WorkflowActionEvent,
    tags: {} as "terminal",
    transitionMeta: {} as TransitionMeta,
  },
}).createMachine({
  id: "workflow-action",
  description: "A WorkflowAction is a request to the workflow controller, which answers it once.",
  context: { status: {} },
  initial: "Pending",
  states: {
    Pending: {
      description: "The workflow controller has not come to it. Nothing waits in this phase: it lasts one pass.",
      on: {
        APPLY: {
          target: "Succeeded",
          actions: assign(({ context, event }) => ({
            status: ended(context.status, "True", { ...event, reason: "ActionApplied" }),
          })),
          description: "The WorkflowRun is as it was asked for, and that is stored.",
          meta: { writer: "controller", reason: "ActionApplied" },
        },
        REFUSE: {
          target: "Failed",
          actions: assign(({ context, event }) => ({ status: ended(context.status, "False", event) })),
          description: "It cannot be done; the WorkflowRun is as it was.",
          meta: { writer: "controller", reason: actionFailureReasons },
        },
      },
    },
    Succeeded: { tags: ["terminal"], description: "The WorkflowRun is as it was asked for." },
    Failed: { tags: ["terminal"], description: "It was refused; the reason says why, the message what would work." },
  },
});

export type WorkflowActionSnapshot = SnapshotFrom<typeof workflowActionMachine>;

/**
 * The snapshot of a persisted status; without a status the action has just been created.
 * @throws UnknownPhaseError, MalformedStatusError
 */
export function restoreWorkflowAction(status: WorkflowActionStatus | undefined): WorkflowActionSnapshot {
  const persisted = status ?? { phase: "Pending" as const };
  checkStatus(workflowActionMachine.id, persisted, Object.keys(workflowActionMachine.states), {
    conditions: "conditions",
  });
  const { phase, ...fields } = persisted;
  return workflowActionMachine.resolveState({ value: phase, context: { status: fields } });
}

/** The status to persist; the inverse of {@link restoreWorkflowAction}. */
export function workflowActionStatus(snapshot: WorkflowActionSnapshot): WorkflowActionStatus {
  return { phase: snapshot.value, ...snapshot.context.status };
}
