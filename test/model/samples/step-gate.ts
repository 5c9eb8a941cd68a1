import type { AnyMachineSnapshot } from "xstate";
import type { StepGateEvent, StepGateSnapshot } from "#machines/step-gate.ts";
import { at, type Samples, type Walk } from "./samples.ts";

const message = "text for people";

export const stepGateSamples: Samples<StepGateEvent> = {
  START: [
    { type: "START", now: at(1) },
    { type: "START", deadline: "2025-07-06T13:00:00.000000Z", message, now: at(1) },
  ],
  CANNOT_START: [{ type: "CANNOT_START", reason: "ExpressionFailed", message, now: at(1) }],
  SKIP: [{ type: "SKIP", reason: "StepFailed", message, now: at(1) }],
  RESUME: [
    { type: "RESUME", now: at(2) },
    { type: "RESUME", outputs: { ok: "yes" }, now: at(2) },
  ],
  FAIL: [
    { type: "FAIL", reason: "GateStopped", message, now: at(2) },
    { type: "FAIL", reason: "InvalidOutputParameters", message, now: at(2) },
  ],
  CANCEL: [{ type: "CANCEL", now: at(3) }],
};

export const stepGateWalk: Walk = {
  samples: stepGateSamples,
  essence: (snapshot: AnyMachineSnapshot) => {
    const { value, context } = snapshot as StepGateSnapshot;
    const { gate, reason, outputs } = context.status;
    return [value, gate?.deadline, reason, outputs];
  },
};
