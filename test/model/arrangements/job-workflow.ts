import type { AnyMachineSnapshot } from "xstate";
import type { JobSpec } from "#api/kinds/job.ts";
import type { RunStatus } from "#api/kinds/run.ts";
import type { JobStatus, WorkflowRunSpec } from "#api/kinds/workflow-run.ts";
import { runs, workflowRuns } from "#api/resources.ts";
import { timestamp } from "#api/time.ts";
import { type JobWorkflowEvent, type JobWorkflowSnapshot, restoreJobWorkflow } from "#machines/job-workflow.ts";
import { arranged, byItself, type Scene } from "./arranged.ts";
import { namespace } from "./pool.ts";
import { job, step, WorkflowStage } from "./workflow-stage.ts";

const now = 1_751_803_200_000;
const message = "text for people";
const subject = "build";
const workflowRunName = "ci-build-1a2b3c4d";

const ready: JobWorkflowEvent = { type: "READY", now };
const start: JobWorkflowEvent = { type: "START", workflowRunName, now };
const skip = (reason: "NeedsNotSucceeded" | "TimedOut"): JobWorkflowEvent => ({ type: "SKIP", reason, message, now });
const cannotStart: JobWorkflowEvent = { type: "CANNOT_START", reason: "ExpressionFailed", message, now };
const seen: JobWorkflowEvent = { type: "CHILD_SEEN", startTime: "2025-07-06T12:00:03.000000Z" };
const succeeded: JobWorkflowEvent = { type: "CHILD_SUCCEEDED", now };
const failed: JobWorkflowEvent = { type: "CHILD_FAILED", reason: "JobFailed", message, now };
const ended: JobWorkflowEvent = { type: "CHILD_ENDED", now };
const missing: JobWorkflowEvent = { type: "CHILD_MISSING", now };
const taken: JobWorkflowEvent = { type: "NAME_TAKEN", workflowRunName: "ci-build-5e6f7a8b", message, now };
const refused: JobWorkflowEvent = { type: "CHILD_REFUSED", message, now };
const cancel: JobWorkflowEvent = { type: "CANCEL", reason: "TimedOut", message, now };
const retry: JobWorkflowEvent = { type: "RETRY", reason: "JobFailed", message, notBefore: now, now };

const statusOf = (snapshot: AnyMachineSnapshot) => (snapshot as JobWorkflowSnapshot).context.status;

function events(snapshot: AnyMachineSnapshot): JobWorkflowEvent[] {
  const isSeen = statusOf(snapshot).startTime !== undefined;
  switch (snapshot.value) {
    case "Waiting":
      return [ready];
    case "Running":
      return [...(isSeen ? [] : [seen, refused]), succeeded, failed, missing, taken, cancel];
    case "Stopping":
      return [ended, missing];
    default:
      return [];
  }
}

const follows = (_: AnyMachineSnapshot, event: JobWorkflowEvent) => (event.type === "READY" ? start : undefined);

interface Setting {
  readonly name: string;
  readonly spec: WorkflowRunSpec;
  readonly usedUp?: JobStatus;
  readonly events: (snapshot: AnyMachineSnapshot) => JobWorkflowEvent[];
  readonly follows?: (snapshot: AnyMachineSnapshot, event: JobWorkflowEvent) => JobWorkflowEvent | undefined;
}

/** Knows the child WorkflowRun, whose job `inner` has one step, `test`. */
class CallStage extends WorkflowStage {
  async childName(): Promise<string> {
    await this.until(async () => {
      const name = (await this.job(subject)).workflowRunName;
      return name !== undefined && (await this.plane.find(workflowRuns, name))?.metadata.ownerReferences !== undefined;
    });
    return (await this.job(subject)).workflowRunName ?? "";
  }

  /** Lets the only step of the child reach an end. */
  async setInner(status: Pick<RunStatus, "phase" | "reason" | "message">): Promise<void> {
    const child = await this.childName();
    const runNameOf = async () =>
      (await this.plane.find(workflowRuns, child))?.status?.jobs?.inner?.steps?.[0]?.runName ?? "";
    await this.until(async () => (await this.plane.find(runs, await runNameOf())) !== undefined);
    const client = this.plane.client.of(runs);
    const run = await client.get({ name: await runNameOf(), namespace });
    const completionTime = timestamp(this.plane.clock.now());
    await client.update({ ...run, status: { ...run.status, attempt: 1, completionTime, ...status } }, "status");
  }
}

function scene({ name, spec, usedUp, ...setting }: Setting): Scene<CallStage, JobWorkflowEvent> {
  return {
    name,
    start: restoreJobWorkflow(usedUp),
    events: setting.events,
    follows: setting.follows ?? follows,
    async build() {
      const inner = { inputs: { x: {} }, jobs: { inner: job([step("test")]) } };
      const stage = new CallStage({ spec, workflows: { inner } }, ({ status }) => {
        return status?.jobs?.[subject]?.phase ?? "Waiting";
      });
      await stage.start();
      if (usedUp !== undefined) {
        await stage.exists();
        await stage.childName();
        await stage.useUpNames(subject);
      }
      return stage;
    },
  };
}

const timeout = "1m";
const call = (more: Partial<JobSpec> = {}): JobSpec => ({ uses: "inner", ...more });
const first = job([step("test")]);

export const jobWorkflowArrangements = arranged<CallStage, JobWorkflowEvent>({
  scenes: [
    scene({ name: "a job that is a Workflow", spec: { jobs: { build: call() }, timeout }, events }),
    scene({
      name: "a job that is a Workflow, without another name",
      spec: { jobs: { build: call() } },
      usedUp: { phase: "Running", attempt: 1, collision: 100, workflowRunName },
      events: ({ value }) => (value === "Running" ? [taken] : []),
    }),
    scene({
      name: "a job that is a Workflow and may be tried again",
      spec: { jobs: { build: call({ retry: { attempts: 2 } }) } },
      events: (snapshot) =>
        snapshot.value === "Running" && statusOf(snapshot).attempt === 1
          ? [retry]
          : snapshot.value === "Waiting"
            ? [ready]
            : [],
      follows: (_, event) => (event.type === "READY" || event.type === "RETRY" ? start : undefined),
    }),
    scene({
      name: "a job behind another one",
      spec: { jobs: { first, build: call() }, parallelism: 1, timeout },
      events: ({ value }) => (value === "Waiting" ? [ready] : value === "Queued" ? [skip("TimedOut")] : []),
      follows: () => undefined,
    }),
    scene({
      name: "a job that needs another one, and a value that is none",
      spec: { jobs: { first, build: call({ needs: ["first"], with: { x: "${{ fromJSON('{') }}" } }) } },
      events: ({ value }) => (value === "Waiting" ? [skip("NeedsNotSucceeded"), cannotStart] : []),
    }),
  ],
  arrange: {
    READY: (stage) => stage.exists(),
    async CANNOT_START(stage) {
      await stage.exists();
      await stage.succeed("first", "test");
    },
    async SKIP(stage, { reason }) {
      if (reason === "TimedOut") return; // time does it
      await stage.exists();
      await stage.fail("first", "test");
    },
    START: byItself,
    CHILD_SEEN: byItself, // after a while
    CHILD_SUCCEEDED: (stage) => stage.setInner({ phase: "Succeeded" }),
    CHILD_FAILED: (stage) => stage.setInner({ phase: "Failed", reason: "ExitNonZero", message }),
    CHILD_ENDED: (stage) => stage.setInner({ phase: "Cancelled", reason: "Cancelled", message }),
    async CHILD_MISSING(stage) {
      await stage.deleteChild(workflowRuns, await stage.childName());
    },
    async NAME_TAKEN(stage) {
      await stage.usurp(workflowRuns, await stage.childName(), { workflowRef: { name: "none" } });
    },
    async CHILD_REFUSED(stage) {
      const name = await stage.childName();
      stage.refuses = workflowRuns.kind;
      await stage.deleteChild(workflowRuns, name);
    },
    RETRY: (stage) => stage.setInner({ phase: "Failed", reason: "ExitNonZero", message }),
    CANCEL: byItself, // by the time limit of the run
  },
});
