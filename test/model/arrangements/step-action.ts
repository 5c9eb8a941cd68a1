import type { AnyMachineSnapshot } from "xstate";
import type { StepSpec } from "#api/kinds/job.ts";
import type { ActionSpec } from "#api/kinds/workflow.ts";
import type { WorkflowRunSpec } from "#api/kinds/workflow-run.ts";
import { newStep } from "#machines/step.ts";
import { restoreStepAction, type StepActionEvent, type StepActionSnapshot } from "#machines/step-action.ts";
import { arranged, byItself, type Scene } from "./arranged.ts";
import { step, WorkflowStage } from "./workflow-stage.ts";

const now = 1_751_803_200_000;
const message = "text for people";
/** The subject is step `use` of job `build`; the Action has the steps `test` and `package`. */
const subject = "use";

type Phase = "Waiting" | "Running" | "Stopping" | "Succeeded" | "Failed" | "Cancelled" | "Skipped";

const steps = (test: Phase, pack: Phase): StepActionEvent => ({
  type: "STEPS",
  steps: [
    { name: "test", phase: test },
    { name: "package", phase: pack },
  ],
});
const start: StepActionEvent = { type: "START", steps: ["test", "package"], now };
const skip: StepActionEvent = { type: "SKIP", reason: "ConditionNotMet", message, now };
const cannotStart: StepActionEvent = { type: "CANNOT_START", reason: "ExpressionFailed", message, now };
const outputsFailed: StepActionEvent = { type: "OUTPUTS_FAILED", reason: "ExpressionFailed", message, now };
const timeOut: StepActionEvent = { type: "TIME_OUT", message, now };

const phasesOf = (snapshot: AnyMachineSnapshot): readonly Phase[] =>
  ((snapshot as StepActionSnapshot).context.status.steps ?? []).map(({ phase }) => phase as Phase);

const ranOut = (snapshot: AnyMachineSnapshot): boolean =>
  (snapshot as StepActionSnapshot).context.status.reason === "Timeout";

/** What the steps of the Action come to, and the end of one that was asked to. */
function follows(snapshot: AnyMachineSnapshot, event: StepActionEvent): StepActionEvent | undefined {
  const [test, pack] = phasesOf(snapshot);
  if (snapshot.value === "Stopping") {
    if (test === "Running") return steps("Stopping", "Waiting");
    return test === "Cancelled" ? { type: "STEPS_ENDED", now } : undefined;
  }
  if (event.type === "START") return steps("Running", "Waiting");
  if (event.type !== "STEPS" || snapshot.value !== "Running") return undefined;
  if (test === "Stopping") return { type: "CANCEL" };
  if (pack === "Succeeded") return { type: "STEPS_SUCCEEDED", now };
  if (test === "Failed") return { type: "STEP_FAILED", now };
  return test === "Succeeded" && pack === "Waiting" ? { type: "WORKSPACE_LOST", message, now } : undefined;
}

function events(snapshot: AnyMachineSnapshot): StepActionEvent[] {
  const [test, pack] = phasesOf(snapshot);
  switch (snapshot.value) {
    case "Waiting":
      return [start];
    case "Running":
      if (pack === "Running") return [steps("Succeeded", "Succeeded")];
      return [steps("Succeeded", "Running"), steps("Failed", "Skipped"), steps("Succeeded", "Waiting")];
    case "Stopping":
      if (test !== "Stopping") return [];
      // In a job that could clean up, the step that does not is skipped in its turn.
      return [steps("Cancelled", ranOut(snapshot) ? "Waiting" : "Skipped")];
    default:
      return [];
  }
}

interface Setting {
  readonly name: string;
  readonly step?: Partial<StepSpec>;
  readonly action?: Partial<ActionSpec>;
  readonly run?: Partial<WorkflowRunSpec>;
  readonly hasRuntime?: false;
  readonly events?: (snapshot: AnyMachineSnapshot) => StepActionEvent[];
  readonly follows?: (snapshot: AnyMachineSnapshot, event: StepActionEvent) => StepActionEvent | undefined;
}

function scene(setting: Setting): Scene<WorkflowStage, StepActionEvent> {
  const action: ActionSpec = { steps: [step("test"), step("package")], ...setting.action };
  const use = { name: subject, uses: "build", ...setting.step };
  const spec: WorkflowRunSpec = { jobs: { build: { "runs-on": "bash", steps: [use] } }, ...setting.run };
  return {
    name: setting.name,
    start: restoreStepAction(newStep(subject)),
    events: setting.events ?? events,
    follows: setting.follows ?? follows,
    async build() {
      const surroundings = {
        spec,
        actions: { build: action },
        ...(setting.hasRuntime === false && { hasRuntime: false }),
      };
      const stage = new WorkflowStage(surroundings, ({ status }) => {
        const found = status?.jobs?.build?.steps?.find(({ name }) => name === subject);
        return found?.phase ?? "Waiting";
      });
      await stage.start();
      return stage;
    },
  };
}

export const stepActionArrangements = arranged<WorkflowStage, StepActionEvent>({
  scenes: [
    scene({ name: "a step that uses an Action" }),
    scene({ name: "a step whose condition does not hold", step: { if: "false" }, events: before(skip) }),
    scene({
      name: "a step whose condition has no value",
      step: { if: "fromJSON('{')" },
      events: before(cannotStart),
    }),
    scene({
      name: "a step with an output that has no value",
      action: { outputs: { x: { value: "${{ fromJSON('{') }}" } } },
      events: (snapshot) =>
        events(snapshot)
          .filter((event) => event.type !== "STEPS" || event.steps[1]?.phase !== "Skipped")
          .slice(0, 1),
      follows: (snapshot, event) => {
        const next = follows(snapshot, event);
        return next?.type === "STEPS_SUCCEEDED" ? outputsFailed : next;
      },
    }),
    scene({
      name: "a step with a time limit",
      step: { timeout: "30s" },
      events: (snapshot) => (snapshot.value === "Running" ? [timeOut] : events(snapshot)),
    }),
    scene({
      name: "a step with a time limit and without a Runtime",
      step: { timeout: "30s" },
      hasRuntime: false,
      events: ({ value }) => (value === "Waiting" ? [start] : value === "Running" ? [timeOut] : []),
      follows: () => undefined,
    }),
    scene({
      name: "a step of a run that is out of time",
      run: { timeout: "1m" },
      events: (snapshot) => (snapshot.value === "Running" ? [steps("Stopping", "Waiting")] : events(snapshot)),
    }),
  ],
  arrange: {
    START: (stage) => stage.exists(),
    SKIP: (stage) => stage.exists(),
    CANNOT_START: (stage) => stage.exists(),
    async STEPS(stage, event) {
      switch (event.steps.map(({ phase }) => phase).join(" ")) {
        case "Succeeded Running":
          return stage.succeed("build", "use/test");
        case "Succeeded Succeeded":
          return stage.succeed("build", "use/package");
        case "Failed Skipped":
          return stage.fail("build", "use/test");
        case "Cancelled Waiting":
        case "Cancelled Skipped":
          return stage.cancelled("build", "use/test");
        case "Succeeded Waiting":
          // The files go while the first step is at work, so the second one cannot begin.
          await stage.claim("build", "use/test");
          await stage.loseWorkspace("build");
          return stage.succeed("build", "use/test");
        case "Stopping Waiting":
          return stage.hasChild("build", "use/test");
        default:
          return; // by itself
      }
    },
    STEPS_SUCCEEDED: byItself,
    STEP_FAILED: byItself,
    OUTPUTS_FAILED: byItself,
    WORKSPACE_LOST: byItself,
    TIME_OUT: byItself,
    STEPS_ENDED: byItself,
    CANCEL: byItself,
  },
});

function before(event: StepActionEvent) {
  return ({ value }: AnyMachineSnapshot): StepActionEvent[] => (value === "Waiting" ? [event] : []);
}
