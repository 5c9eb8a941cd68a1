import type { AnyMachineSnapshot } from "xstate";
import type { StepStatus, WorkflowRunSpec } from "#api/kinds/workflow-run.ts";
import { runs } from "#api/resources.ts";
import { newStep, restoreStep, type StepEvent } from "#machines/step.ts";
import { arranged, byItself, type Scene } from "./arranged.ts";
import { namespace } from "./pool.ts";
import { job, step, WorkflowStage, type WorkflowSurroundings } from "./workflow-stage.ts";

const now = 1_751_803_200_000;
const message = "text for people";
const startTime = "2025-07-06T12:00:03.000000Z";
const runName = "ci-build-test-1a2b3c4d";

const start: StepEvent = { type: "START", runName, now };
const succeeded: StepEvent = { type: "RUN_SUCCEEDED", exitCode: 0, now };
const failed: StepEvent = { type: "RUN_FAILED", reason: "ExitNonZero", message, exitCode: 3, now };
const runCancelled: StepEvent = { type: "RUN_CANCELLED", message, now };
const missing: StepEvent = { type: "RUN_MISSING", now };
const taken: StepEvent = { type: "NAME_TAKEN", runName: "ci-build-test-5e6f7a8b", message, now };
const refused: StepEvent = { type: "RUN_REFUSED", message, now };
const replace: StepEvent = { type: "REPLACE", runName: "ci-build-test-9c0d1e2f", message, now };
const seen: StepEvent = { type: "RUN_SEEN", startTime };
const waits: StepEvent = { type: "RUN_SEEN", startTime, reason: "InsufficientCapacity", message };
const cancel: StepEvent = { type: "CANCEL" };

const statusOf = (snapshot: AnyMachineSnapshot) => (snapshot as ReturnType<typeof restoreStep>).context.status;

/** Of the one step of a job by itself. What it was seen to wait for does not change any more. */
function events(snapshot: AnyMachineSnapshot): StepEvent[] {
  switch (snapshot.value) {
    case "Waiting":
      return [start];
    case "Running": {
      const { reason, startTime: known } = statusOf(snapshot);
      const progress = reason === undefined ? [seen, waits] : [];
      // What existed was not refused.
      const refusal = known === undefined ? [refused] : [];
      return [...progress, ...refusal, succeeded, failed, runCancelled, missing, taken, replace, cancel];
    }
    case "Stopping":
      return [succeeded, failed, runCancelled, missing];
    default:
      return [];
  }
}

interface Setting extends WorkflowSurroundings {
  readonly name: string;
  /** Name of the subject in job `build`. */
  readonly step: string;
  /** Where the step is when the paths begin, with no name left for its Run; by default at its beginning. */
  readonly usedUp?: StepStatus;
  readonly hasNeighbours?: true;
  readonly events: (snapshot: AnyMachineSnapshot) => StepEvent[];
  readonly follows?: (snapshot: AnyMachineSnapshot, event: StepEvent) => StepEvent | undefined;
}

class StepStage extends WorkflowStage {
  readonly subjectStep: string;

  constructor(setting: Setting) {
    super(setting, ({ status }) => {
      const found = status?.jobs?.build?.steps?.find(({ name }) => name === setting.step);
      return found?.phase ?? "Waiting";
    });
    this.subjectStep = setting.step;
  }

  /** Name of the child Run of the subject, once it exists. */
  async runName(): Promise<string> {
    await this.hasChild("build", this.subjectStep);
    return (await this.child("build", this.subjectStep)).metadata.name;
  }
}

function scene(setting: Setting): Scene<StepStage, StepEvent> {
  const { usedUp, hasNeighbours, follows } = setting;
  return {
    name: setting.name,
    start: restoreStep(usedUp ?? newStep(setting.step)),
    ...(hasNeighbours && { hasNeighbours }),
    events: setting.events,
    ...(follows && { follows }),
    async build() {
      const stage = new StepStage(setting);
      await stage.start();
      if (usedUp !== undefined) {
        await stage.exists();
        await stage.runName();
        await stage.useUpNames("build", setting.step);
      }
      return stage;
    },
  };
}

const timeout = "1m";
const alone: WorkflowRunSpec = { jobs: { build: job([step("test")]) }, timeout };
const two: WorkflowRunSpec = {
  jobs: { build: job([step("test"), step("package", "echo ${{ steps.test.outputs.tag }}")]) },
  timeout,
};

export const stepArrangements = arranged<StepStage, StepEvent>({
  scenes: [
    scene({ name: "a step by itself", step: "test", spec: alone, events }),
    scene({
      name: "a step without another name for its Run",
      step: "test",
      spec: alone,
      usedUp: { name: "test", phase: "Running", attempt: 1, collision: 100, runName },
      events: ({ value }) => (value === "Running" ? [taken, replace] : []),
    }),
    scene({
      name: "a step whose first request to its Run to end is lost",
      step: "test",
      spec: alone,
      loses: once(({ verb, body }) => verb === "patch" && JSON.stringify(body).includes("termination")),
      events: ({ value }) => (value === "Waiting" ? [start] : value === "Running" ? [cancel] : []),
      follows: (snapshot, event) =>
        event === cancel && snapshot.value === "Stopping" ? { type: "CANCEL" } : undefined,
    }),
    scene({
      name: "a step after another one",
      step: "package",
      spec: two,
      hasNeighbours: true,
      events: ({ value }) =>
        value === "Waiting"
          ? [
              start,
              { type: "SKIP", reason: "StepFailed", message, now },
              { type: "CANNOT_START", reason: "ExpressionFailed", message, now },
            ]
          : [],
    }),
  ],
  arrange: {
    async START(stage) {
      await stage.exists();
      if (stage.subjectStep === "package") await stage.succeed("build", "test", { outputs: { tag: "v1" } });
    },
    async CANNOT_START(stage) {
      await stage.exists();
      await stage.succeed("build", "test");
    },
    async SKIP(stage) {
      await stage.exists();
      await stage.fail("build", "test");
    },
    async RUN_SEEN(stage, { reason, message: says }) {
      const name = await stage.runName();
      // Seen again, or still there after a while.
      if (reason === undefined) await touch(stage, name);
      else await stage.setRun("build", stage.subjectStep, { phase: "Pending", reason, ...(says && { message: says }) });
    },
    RUN_SUCCEEDED: (stage) => stage.succeed("build", stage.subjectStep),
    RUN_FAILED: (stage) => stage.fail("build", stage.subjectStep),
    RUN_CANCELLED: (stage) => stage.cancelled("build", stage.subjectStep),
    async RUN_MISSING(stage) {
      await stage.deleteChild(runs, await stage.runName());
    },
    async NAME_TAKEN(stage) {
      await stage.usurp(runs, await stage.runName());
    },
    async RUN_REFUSED(stage) {
      const name = await stage.runName();
      stage.refuses = runs.kind;
      await stage.deleteChild(runs, name);
    },
    REPLACE: (stage) => stage.loseWorkspace("build"),
    CANCEL: byItself, // by its time limit
  },
});

function once<T>(holds: (it: T) => boolean): (it: T) => boolean {
  let open = true;
  return (it) => {
    const does = open && holds(it);
    if (does) open = false;
    return does;
  };
}

async function touch(stage: StepStage, name: string): Promise<void> {
  const labels = { "test.example.com/touched": String(stage.plane.clock.now()) };
  await stage.plane.client.of(runs).patch({ name, namespace }, { metadata: { labels } });
}
