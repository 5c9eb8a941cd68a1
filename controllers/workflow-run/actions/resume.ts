import type { WorkflowAction } from "#api/kinds/workflow-action.ts";
import { step } from "#machines/lib/settle.ts";
import { workflowRunMachine } from "#machines/workflow-run.ts";
import { parseNodeFieldSelector } from "#workflows/node-field-selector.ts";
import { type ApplyContext, refuse, type Verdict } from "./verdict.ts";

/** Resume: the run goes on. With a selector the gates that it matches open instead, and a suspension stays. */
export function resume(action: WorkflowAction, { run, snapshot: before, now }: ApplyContext): Verdict {
  const { nodeFieldSelector } = action.spec.resume ?? {};
  if (nodeFieldSelector !== undefined && nodeFieldSelector !== "") return resumeGates(nodeFieldSelector);
  const { snapshot, changed } = step(workflowRunMachine, before, { type: "RESUME", now });
  const { name } = run.metadata;
  if (changed) return { outcome: "Succeeded", snapshot, message: `WorkflowRun ${name} goes on` };
  return refuse(
    "NothingToResume",
    `WorkflowRun ${name} is not suspended and has no gate that waits; it is ${before.value}`,
  );
}

function resumeGates(text: string): Verdict {
  const parsed = parseNodeFieldSelector(text);
  if (!parsed.ok) return refuse("InvalidNodeFieldSelector", parsed.message);
  return refuse("NothingToResume", `no gate that waits matches ${text}`);
}
