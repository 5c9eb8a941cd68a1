import type { WorkflowAction } from "#api/kinds/workflow-action.ts";
import { step } from "#machines/lib/settle.ts";
import { workflowRunMachine } from "#machines/workflow-run.ts";
import { activeGates, choose, sendToGates } from "./gates.ts";
import type { ApplyContext, Verdict } from "./verdict.ts";

const words = { Stop: "stopped", Terminate: "terminated" } as const;

/** Stop and Terminate: the run is to end. With a selector, Stop refuses gates instead. */
export function stop(action: WorkflowAction, context: ApplyContext): Verdict {
  const { nodeFieldSelector, message } = action.spec.stop ?? {};
  if (nodeFieldSelector !== undefined && nodeFieldSelector !== "") {
    return stopGates(nodeFieldSelector, message, action.metadata.name, context);
  }
  const verb = action.spec.action === "Terminate" ? "Terminate" : "Stop";
  const type = verb === "Terminate" ? "TERMINATE" : "STOP";
  const why = `${words[verb]} by WorkflowAction ${action.metadata.name}${message ? `: ${message}` : ""}`;
  const { snapshot, changed } = step(workflowRunMachine, context.snapshot, { type, message: why, now: context.now });
  const { name } = context.run.metadata;
  if (changed) return { outcome: "Succeeded", snapshot, message: `WorkflowRun ${name} is ${words[verb]}` };
  const { shutdown = verb } = snapshot.context.status;
  return { outcome: "Succeeded", snapshot, message: `WorkflowRun ${name} had been ${words[shutdown]} before` };
}

/** The gates that a selector matches fail; the run goes on by the rules for failures. */
function stopGates(text: string, message: string | undefined, action: string, context: ApplyContext): Verdict {
  const { plan, snapshot, now } = context;
  const chosen = choose(plan === undefined ? [] : activeGates(snapshot, plan), text, "NothingToStop");
  if (!chosen.ok) return chosen.verdict;
  const why = message ?? `stopped by WorkflowAction ${action}`;
  const events = chosen.gates.map((gate) => {
    return { gate, event: { type: "FAIL", reason: "GateStopped", message: why, now } as const };
  });
  const names = chosen.gates.map(({ node }) => node.name).join(", ");
  return { outcome: "Succeeded", snapshot: sendToGates(snapshot, events), message: `stopped ${names}` };
}
