import type { WorkflowAction } from "#api/kinds/workflow-action.ts";
import { step } from "#machines/lib/settle.ts";
import { workflowRunMachine } from "#machines/workflow-run.ts";
import type { ApplyContext, Verdict } from "./verdict.ts";

/** Suspend: what runs goes on, nothing new is started. */
export function suspend(_: WorkflowAction, { run, snapshot: before, now }: ApplyContext): Verdict {
  const { snapshot, changed } = step(workflowRunMachine, before, { type: "SUSPEND", now });
  const { name } = run.metadata;
  const message = changed ? `WorkflowRun ${name} is suspended` : `WorkflowRun ${name} was suspended before`;
  return { outcome: "Succeeded", snapshot, message };
}
