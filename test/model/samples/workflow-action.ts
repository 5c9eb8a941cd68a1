import type { AnyMachineSnapshot } from "xstate";
import type { WorkflowActionEvent, WorkflowActionSnapshot } from "#machines/workflow-action.ts";
import { at, type Samples, type Walk } from "./samples.ts";

const message = "text for people";

export const workflowActionSamples: Samples<WorkflowActionEvent> = {
  APPLY: [{ type: "APPLY", message, now: at(1) }],
  REFUSE: [
    { type: "REFUSE", reason: "WorkflowNotFound", message, now: at(2) },
    { type: "REFUSE", reason: "NothingToStop", message, now: at(3) },
  ],
};

export const workflowActionWalk: Walk = {
  samples: workflowActionSamples,
  essence: (snapshot: AnyMachineSnapshot) => {
    const { value, context } = snapshot as WorkflowActionSnapshot;
    return [value, context.status.reason];
  },
};
