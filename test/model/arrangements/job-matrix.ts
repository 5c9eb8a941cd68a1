import type { WorkflowRunSpec } from "#api/kinds/workflow-run.ts";
import { type JobMatrixEvent, restoreJobMatrix } from "#machines/job-matrix.ts";
import { arranged, type Scene } from "./arranged.ts";
import { job, step, WorkflowStage } from "./workflow-stage.ts";

const now = 1_751_803_200_000;
const message = "text for people";
/** The subject; its instances are `build.0` and `build.1`. */
const subject = "build";
const timeout = "1m";

const expand: JobMatrixEvent = { type: "EXPAND", instances: 2, now };
const succeeded: JobMatrixEvent = { type: "INSTANCES_SUCCEEDED", now };
const failed: JobMatrixEvent = { type: "INSTANCE_FAILED", reason: "JobFailed", message, now };
const cancelled: JobMatrixEvent = { type: "INSTANCES_CANCELLED", reason: "TimedOut", message, now };
const cannotStart: JobMatrixEvent = { type: "CANNOT_START", reason: "ExpressionFailed", message, now };
const skip: JobMatrixEvent = { type: "SKIP", reason: "NeedsNotSucceeded", message, now };

function scene(
  name: string,
  spec: WorkflowRunSpec,
  waiting: readonly JobMatrixEvent[],
): Scene<WorkflowStage, JobMatrixEvent> {
  return {
    name,
    start: restoreJobMatrix(undefined),
    events: ({ value }) => (value === "Waiting" ? waiting : value === "Running" ? [succeeded, failed, cancelled] : []),
    async build() {
      const stage = new WorkflowStage({ spec }, ({ status }) => status?.jobs?.[subject]?.phase ?? "Waiting");
      await stage.start();
      return stage;
    },
  };
}

const first = job([step("test")], { outputs: { none: "[]" } });
const matrix = (values: unknown) => ({ matrix: { n: values }, "fail-fast": false });

export const jobMatrixArrangements = arranged<WorkflowStage, JobMatrixEvent>({
  scenes: [
    scene(
      "a job with a matrix by itself",
      { jobs: { build: job([step("test")], { strategy: matrix([1, 2]) }) }, timeout },
      [expand],
    ),
    scene(
      "a job whose matrix comes from another one, and is empty",
      {
        jobs: {
          first,
          build: job([step("test")], {
            needs: ["first"],
            strategy: matrix("${{ fromJSON(needs.first.outputs.none) }}"),
          }),
        },
      },
      [cannotStart, skip],
    ),
  ],
  arrange: {
    EXPAND: (stage) => stage.exists(),
    async CANNOT_START(stage) {
      await stage.exists();
      await stage.succeed("first", "test");
    },
    async SKIP(stage) {
      await stage.exists();
      await stage.fail("first", "test");
    },
    async INSTANCES_SUCCEEDED(stage) {
      await stage.succeed("build.0", "test");
      await stage.succeed("build.1", "test");
    },
    async INSTANCE_FAILED(stage) {
      await stage.fail("build.0", "test");
      await stage.succeed("build.1", "test");
    },
    async INSTANCES_CANCELLED(stage) {
      await stage.hasChild("build.0", "test");
      await stage.hasChild("build.1", "test");
      await stage.until(async () => (await stage.subject()).status?.phase === "Stopping");
      await stage.cancelled("build.0", "test");
      await stage.cancelled("build.1", "test");
    },
  },
});
