import type { StepSpec } from "#api/kinds/job.ts";
import { newStep } from "#machines/step.ts";
import { restoreStepGate, type StepGateEvent } from "#machines/step-gate.ts";
import { arranged, byItself, type Scene } from "./arranged.ts";
import { job, step, WorkflowStage } from "./workflow-stage.ts";

const now = 1_751_803_200_000;
const message = "text for people";

const start: StepGateEvent = { type: "START", now };
const fail = (reason: "GateStopped" | "InvalidOutputParameters"): StepGateEvent => ({
  type: "FAIL",
  reason,
  message,
  now,
});

/** The gate `test`, before another step. */
function scene(
  name: string,
  gate: Partial<StepSpec>,
  events: Readonly<Record<string, readonly StepGateEvent[]>>,
): Scene<WorkflowStage, StepGateEvent> {
  return {
    name,
    start: restoreStepGate(newStep("test")),
    events: ({ value }) => events[String(value)] ?? [],
    async build() {
      const build = job([{ name: "test", suspend: {}, ...gate }, step("package")]);
      const stage = new WorkflowStage({ spec: { jobs: { build }, timeout: "1m" } }, ({ status }) => {
        return status?.jobs?.build?.steps?.[0]?.phase ?? "Waiting";
      });
      await stage.start();
      return stage;
    },
  };
}

export const stepGateArrangements = arranged<WorkflowStage, StepGateEvent>({
  scenes: [
    scene(
      "a gate",
      { suspend: { outputs: { ok: { default: "yes" } } } },
      { Waiting: [start], Suspended: [{ type: "RESUME", now }, fail("GateStopped"), { type: "CANCEL", now }] },
    ),
    scene(
      "a gate with a time, and with an output that has no value then",
      { suspend: { duration: "10s", outputs: { ok: {} } } },
      { Waiting: [start], Suspended: [fail("InvalidOutputParameters")] },
    ),
    scene(
      "a gate whose message has no value",
      { suspend: { message: "${{ fromJSON('{') }}" } },
      { Waiting: [{ type: "CANNOT_START", reason: "ExpressionFailed", message, now }] },
    ),
    scene(
      "a gate whose condition does not hold",
      { if: "false" },
      { Waiting: [{ type: "SKIP", reason: "ConditionNotMet", message, now }] },
    ),
  ],
  arrange: {
    START: (stage) => stage.exists(),
    CANNOT_START: (stage) => stage.exists(),
    SKIP: (stage) => stage.exists(),
    RESUME: (stage) => stage.ask("Resume"),
    async FAIL(stage, { reason }) {
      if (reason === "GateStopped") await stage.ask("Stop", { stop: { nodeFieldSelector: "name=build/test" } });
    },
    CANCEL: byItself,
  },
});
