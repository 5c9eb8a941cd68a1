import type { StepStatus } from "#api/kinds/workflow-run.ts";
import { parseTime, timestamp } from "#api/time.ts";
import type { StepGateEvent } from "#machines/step-gate.ts";
import { evaluateTemplate } from "#workflows/expressions/evaluate.ts";
import { gateOutputs } from "#workflows/gate-outputs.ts";
import type { GateWork, StepPlan } from "#workflows/plan.ts";
import { ownValues, type StepPlace } from "./step-place.ts";

/** What is due for a gate whose turn it is. */
export function observeGateTurn(place: StepPlace, plan: StepPlan, work: GateWork, now: number): StepGateEvent {
  const deadline = work.durationMs === undefined ? {} : { deadline: timestamp(now + work.durationMs) };
  if (work.message === undefined) return { type: "START", ...deadline, now };
  const values = ownValues(place, plan);
  const message = values.ok ? evaluateTemplate(work.message, values.values) : values;
  if (!message.ok) {
    return { type: "CANNOT_START", reason: "ExpressionFailed", message: `message: ${message.message}`, now };
  }
  return { type: "START", ...deadline, message: message.value, now };
}

/** What is due for a gate that waits: at its deadline it opens with its defaults. */
export function observeGate(
  name: string,
  step: StepStatus,
  work: GateWork,
  isEnding: boolean,
  now: number,
): StepGateEvent | undefined {
  if (isEnding) return { type: "CANCEL", now };
  const deadline = gateDeadline(step);
  if (deadline === undefined || now < deadline) return undefined;
  const result = gateOutputs(name, work.outputs);
  if (result.ok) return { type: "RESUME", outputs: result.outputs, now };
  return { type: "FAIL", reason: "InvalidOutputParameters", message: `its time is over; ${result.message}`, now };
}

/** When a gate that waits opens by itself; undefined when it never does. */
export function gateDeadline({ phase, gate }: StepStatus): number | undefined {
  return phase === "Suspended" ? parseTime(gate?.deadline) : undefined;
}
