import type { WorkflowAction } from "#api/kinds/workflow-action.ts";
import { step } from "#machines/lib/settle.ts";
import type { StepGateEvent } from "#machines/step-gate.ts";
import { type WorkflowRunSnapshot, workflowRunMachine } from "#machines/workflow-run.ts";
import { gateOutputs } from "#workflows/gate-outputs.ts";
import { bytesOf } from "../budget.ts";
import { type ActiveGate, activeGates, choose, sendToGates } from "./gates.ts";
import { type ApplyContext, refuse, type Verdict } from "./verdict.ts";

/** Resume: the run goes on and its gates open. With a selector only the gates that it matches do, and a suspension stays. */
export function resume(action: WorkflowAction, context: ApplyContext): Verdict {
  const { run, plan, snapshot: before, heldBy, now } = context;
  const { nodeFieldSelector = "", outputParameters } = action.spec.resume ?? {};
  const { name } = run.metadata;
  const gates = plan === undefined ? [] : activeGates(before, plan);
  if (nodeFieldSelector !== "") {
    const chosen = choose(gates, nodeFieldSelector, "NothingToResume");
    if (!chosen.ok) return gates.length > 0 ? chosen.verdict : withHint(chosen.verdict, context);
    return open(chosen.gates, outputParameters, context) ?? unreachable();
  }
  const opened = open(gates, undefined, context);
  if (opened?.outcome === "Failed") return opened;
  const { snapshot, changed } = step(workflowRunMachine, opened?.snapshot ?? before, { type: "RESUME", now });
  if (changed)
    return { outcome: "Succeeded", snapshot, message: `WorkflowRun ${name} ${howItGoesOn(snapshot, heldBy)}` };
  if (opened !== undefined) return opened;
  const where = before.value === "Pending" || before.value === "Stopping" ? before.value : "at work";
  const why = `WorkflowRun ${name} is not suspended and has no gate that waits; it is ${where}`;
  return withHint(refuse("NothingToResume", why), context);
}

function howItGoesOn({ value }: WorkflowRunSnapshot, heldBy: string | undefined): string {
  if (value === "Stopping") return "is not suspended any more, and ends all the same";
  return heldBy === undefined ? "goes on" : `goes on when WorkflowRun ${heldBy} is resumed, too`;
}

/** How many runs a message names. */
const namesAtMost = 5;

/** Where there is something to resume, if not here. A Resume is for one run: what somebody suspended below is not its business. */
function withHint(verdict: Verdict, { heldBy, waitingBelow, snapshot }: ApplyContext): Verdict {
  if (verdict.outcome !== "Failed" || verdict.reason !== "NothingToResume") return verdict;
  const say = (hint: string): Verdict => ({ ...verdict, message: `${verdict.message}; ${hint}` });
  if (heldBy !== undefined && snapshot.value !== "Stopping") {
    return say(`it waits because WorkflowRun ${heldBy} is suspended: resume that`);
  }
  const below = waitingBelow();
  if (below.length === 0) return verdict;
  if (below.length === 1) return say(`WorkflowRun ${below[0]}, which is part of it, waits: resume that`);
  const more = below.length > namesAtMost ? ` and ${below.length - namesAtMost} more` : "";
  return say(
    `WorkflowRuns ${below.slice(0, namesAtMost).join(", ")}${more}, which are parts of it, wait: resume those`,
  );
}

/** Opens gates, all or none; undefined when there are none. */
function open(
  gates: readonly ActiveGate[],
  supplied: Readonly<Record<string, string>> | undefined,
  { snapshot, room, now }: ApplyContext,
): Verdict | undefined {
  if (gates.length === 0) return undefined;
  const events: { gate: ActiveGate; event: StepGateEvent }[] = [];
  for (const gate of gates) {
    const result = gateOutputs(gate.node.name, gate.work.outputs, supplied);
    if (!result.ok) return refuse("InvalidOutputParameters", result.message);
    if (!room(bytesOf(result.outputs))) {
      const message = `the outputs of gate ${gate.node.name} do not fit into the status of the WorkflowRun`;
      return refuse("InvalidOutputParameters", message);
    }
    events.push({ gate, event: { type: "RESUME", outputs: result.outputs, now } });
  }
  const names = gates.map(({ node }) => node.name).join(", ");
  return { outcome: "Succeeded", snapshot: sendToGates(snapshot, events), message: `resumed ${names}` };
}

function unreachable(): never {
  throw new Error("a selector that matches chooses at least one gate");
}
