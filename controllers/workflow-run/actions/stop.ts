import type { WorkflowAction } from "#api/kinds/workflow-action.ts";
import { step } from "#machines/lib/settle.ts";
import { workflowRunMachine } from "#machines/workflow-run.ts";
import { parseNodeFieldSelector } from "#workflows/node-field-selector.ts";
import { type ApplyContext, refuse, type Verdict } from "./verdict.ts";

const words = { Stop: "stopped", Terminate: "terminated" } as const;

/** Stop and Terminate: the run is to end. With a selector, Stop refuses gates instead. */
export function stop(action: WorkflowAction, context: ApplyContext): Verdict {
  const { nodeFieldSelector, message } = action.spec.stop ?? {};
  if (nodeFieldSelector !== undefined && nodeFieldSelector !== "") return stopGates(nodeFieldSelector);
  const verb = action.spec.action === "Terminate" ? "Terminate" : "Stop";
  const type = verb === "Terminate" ? "TERMINATE" : "STOP";
  const why = `${words[verb]} by WorkflowAction ${action.metadata.name}${message ? `: ${message}` : ""}`;
  const { snapshot, changed } = step(workflowRunMachine, context.snapshot, { type, message: why, now: context.now });
  const { name } = context.run.metadata;
  if (changed) return { outcome: "Succeeded", snapshot, message: `WorkflowRun ${name} is ${words[verb]}` };
  const { shutdown = verb } = snapshot.context.status;
  return { outcome: "Succeeded", snapshot, message: `WorkflowRun ${name} had been ${words[shutdown]} before` };
}

function stopGates(text: string): Verdict {
  const parsed = parseNodeFieldSelector(text);
  if (!parsed.ok) return refuse("InvalidNodeFieldSelector", parsed.message);
  return refuse("NothingToStop", `no gate that waits matches ${text}`);
}
