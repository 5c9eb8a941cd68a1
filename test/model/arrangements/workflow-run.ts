import type { AnyMachineSnapshot } from "xstate";
import type { JobStatus, WorkflowRunSpec } from "#api/kinds/workflow-run.ts";
import { persistentWorkspaces, workflows } from "#api/resources.ts";
import { restoreWorkflowRun, type WorkflowRunEvent } from "#machines/workflow-run.ts";
import { arranged, byItself, type Scene } from "./arranged.ts";
import { namespace } from "./pool.ts";
import { job, step, WorkflowStage, type WorkflowSurroundings } from "./workflow-stage.ts";

const now = 1_751_803_200_000;
const message = "text for people";
const completionTime = "2025-07-06T12:00:08.000000Z";

type Jobs = Record<string, JobStatus>;
type JobsEvent = Extract<WorkflowRunEvent, { type: "JOBS" }>;

/** The jobs of the subject as its steps leave them; there is one job, `build`, with one step, `test`. */
const at = (phase: JobStatus["phase"]): JobsEvent => {
  const hasEnded = ["Succeeded", "Failed", "Cancelled"].includes(phase);
  const build: JobStatus = { phase, attempt: 1, ...(hasEnded && { completionTime, reason: "StepFailed", message }) };
  return { type: "JOBS", jobs: { build } satisfies Jobs };
};

const start: WorkflowRunEvent = { type: "START", jobs: ["build"], now };
const freeze: WorkflowRunEvent = { type: "FREEZE", name: "snapshot" };
const timeOut: WorkflowRunEvent = { type: "TIME_OUT", message, now };
const retry: WorkflowRunEvent = { type: "RETRY", jobs: { build: { phase: "Waiting", attempt: 2 } }, now };
/** A job that waited for its turn behind `first` is not wanted any more. */
const skipped: JobsEvent = {
  type: "JOBS",
  jobs: {
    build: { phase: "Skipped", attempt: 1, completionTime, reason: "Stopped", message },
    first: { phase: "Succeeded", completionTime },
  },
};
const suspend: WorkflowRunEvent = { type: "SUSPEND", now };
const resume: WorkflowRunEvent = { type: "RESUME", now };
const specSuspend: WorkflowRunEvent = { type: "SPEC_SUSPEND", now };
const specResume: WorkflowRunEvent = { type: "SPEC_RESUME", now };
const stop: WorkflowRunEvent = { type: "STOP", message, now };
const terminate: WorkflowRunEvent = { type: "TERMINATE", message, now };
const recorded: WorkflowRunEvent = {
  type: "RECORD_ACTIONS",
  records: [{ uid: "u", name: "a", action: "Stop", at: completionTime, outcome: "Succeeded" }],
};
const forgotten: WorkflowRunEvent = { type: "FORGET_ACTIONS", uids: ["u"] };

const waits: WorkflowRunEvent = { type: "WORKSPACE_WAITS", message, now };
const ready: WorkflowRunEvent = { type: "WORKSPACE_READY", now };
const invalid = (reason: "InvalidWorkflow" | "WorkflowNotFound" | "NameCollision"): WorkflowRunEvent => ({
  type: "INVALID",
  reason,
  message,
  now,
});

/** The job `first` has ended well, and `build` runs, or has, too. */
const both: JobsEvent = {
  type: "JOBS",
  jobs: { ...at("Running").jobs, first: at("Succeeded").jobs.build as JobStatus },
};

/** The job `build` is ready behind another one. */
const behind = (first: JobStatus["phase"]): JobsEvent => ({
  type: "JOBS",
  jobs: { ...at("Queued").jobs, first: { phase: first, ...(first === "Succeeded" && { completionTime }) } },
});

const phaseOf = (snapshot: AnyMachineSnapshot, id = "build"): string | undefined =>
  (snapshot as ReturnType<typeof restoreWorkflowRun>).context.status.jobs?.[id]?.phase;

const statusOf = (snapshot: AnyMachineSnapshot) => (snapshot as ReturnType<typeof restoreWorkflowRun>).context.status;

/** What its condition says about places for files: nothing, that a job waits for one, or that none does any more. */
const placesOf = (snapshot: AnyMachineSnapshot): string | undefined =>
  (snapshot as ReturnType<typeof restoreWorkflowRun>).context.status.conditions?.find(
    ({ type }) => type === "WorkspaceReady",
  )?.status;

/** A place that was found is not given up again. */
function places(snapshot: AnyMachineSnapshot): WorkflowRunEvent[] {
  const said = placesOf(snapshot);
  return said === undefined ? [waits] : said === "False" ? [ready] : [];
}

/** What follows from the jobs, and the first job of a run that has just started. */
function follows(snapshot: AnyMachineSnapshot, event: WorkflowRunEvent): WorkflowRunEvent | undefined {
  switch (event.type) {
    case "FREEZE":
      return start;
    case "START":
      return at("Running");
    case "TIME_OUT":
      return snapshot.value === "Stopping" ? at("Stopping") : undefined;
    case "STOP":
    case "TERMINATE":
      if (snapshot.value !== "Stopping" || phaseOf(snapshot) === "Stopping") return recorded;
      if (phaseOf(snapshot) === "Running") return at("Stopping");
      return phaseOf(snapshot) === "Queued" ? skipped : { type: "JOBS_ENDED", now };
    case "JOBS_ENDED":
      // What had nothing to wait for has ended in the very pass of the action.
      return phaseOf(snapshot) === "Cancelled" ? undefined : recorded;
    case "SUSPEND":
    case "RESUME":
      return recorded;
    case "RETRY":
      return recorded;
    case "RECORD_ACTIONS":
      return forgotten;
    case "FORGET_ACTIONS":
      return statusOf(snapshot).attempt === 2 && phaseOf(snapshot) === "Waiting" ? at("Running") : undefined;
    case "JOBS": {
      const phase = phaseOf(snapshot);
      const { shutdown } = statusOf(snapshot);
      if (phase === "Stopping") return shutdown === undefined ? undefined : recorded;
      if (phase === "Succeeded") return snapshot.value === "Suspended" ? undefined : { type: "JOBS_SUCCEEDED", now };
      if (phase === "Failed") return { type: "JOB_FAILED", now };
      return phase === "Cancelled" || phase === "Skipped" ? { type: "JOBS_ENDED", now } : undefined;
    }
    default:
      return undefined;
  }
}

/** Suspensions, by an action or by the spec, that change something. */
function marks(snapshot: AnyMachineSnapshot): WorkflowRunEvent[] {
  const { suspended = false, observedSpecSuspend = false } = statusOf(snapshot);
  return [suspended ? resume : suspend, observedSpecSuspend ? specResume : specSuspend];
}

/** What is terminated is not terminated again: nothing would happen. */
const escalation = (snapshot: AnyMachineSnapshot): WorkflowRunEvent[] =>
  statusOf(snapshot).shutdown === "Terminate" ? [] : [terminate];

function events(first: readonly WorkflowRunEvent[], snapshot: AnyMachineSnapshot): WorkflowRunEvent[] {
  switch (snapshot.value) {
    case "Pending":
      return [...first];
    case "Running":
      return [at("Succeeded"), at("Failed"), timeOut, stop, terminate, ...places(snapshot), ...marks(snapshot)];
    case "Suspended":
      // What has ended meanwhile counts when it goes on; here it is stopped instead.
      if (phaseOf(snapshot) !== "Running") return [timeOut, stop, terminate];
      return [at("Succeeded"), timeOut, stop, terminate, ...places(snapshot), ...marks(snapshot)];
    case "Stopping":
      return [
        at("Cancelled"),
        ...(statusOf(snapshot).shutdown === undefined ? [stop] : []),
        ...escalation(snapshot),
        ...marks(snapshot),
      ];
    case "Succeeded":
    case "Failed":
      return ["Succeeded", "Failed"].includes(phaseOf(snapshot) ?? "") ? [retry] : [];
    default:
      return [];
  }
}

function scene(
  name: string,
  first: readonly WorkflowRunEvent[],
  surroundings: WorkflowSurroundings,
  change: Partial<Scene<WorkflowStage, WorkflowRunEvent>> = {},
): Scene<WorkflowStage, WorkflowRunEvent> {
  return {
    name,
    start: restoreWorkflowRun(undefined),
    events: (snapshot) => events(first, snapshot),
    follows,
    async build() {
      const stage = new WorkflowStage(surroundings, ({ status }) => status?.phase ?? "Pending");
      await stage.start();
      return stage;
    },
    ...change,
  };
}

const jobs = { build: job([step("test")]) };
const inline: WorkflowRunSpec = { jobs, timeout: "1m" };
const referring: WorkflowRunSpec = { workflowRef: { name: "build" }, timeout: "1m" };

export const workflowRunArrangements = arranged<WorkflowStage, WorkflowRunEvent>({
  scenes: [
    scene("jobs of its own", [start], { spec: inline }),
    scene("a Workflow that is referred to", [freeze, invalid("WorkflowNotFound")], { spec: referring }),
    scene(
      "a Workflow with an output that has no value",
      [freeze],
      { spec: referring, outputs: { version: { value: "${{ fromJSON('{') }}" } } },
      {
        events: (snapshot) =>
          snapshot.value === "Pending" ? [freeze] : snapshot.value === "Running" ? [at("Succeeded")] : [],
        follows: (snapshot, event) => {
          const next = follows(snapshot, event);
          return next?.type === "JOBS_SUCCEEDED"
            ? { type: "OUTPUTS_FAILED", reason: "ExpressionFailed", message, now }
            : next;
        },
      },
    ),
    scene("jobs that need each other", [invalid("InvalidWorkflow")], {
      spec: { jobs: { build: job([step("test")], { needs: ["build"] }) } },
    }),
    scene(
      "a job that is ready and cannot start, since its workspace cannot be created",
      [start],
      { spec: { jobs: { first: job([step("test")]), ...jobs }, parallelism: 1, timeout: "1m" } },
      {
        events: (snapshot) => {
          if (snapshot.value === "Pending") return [{ type: "START", jobs: ["first", "build"], now }];
          if (snapshot.value !== "Running") return [];
          return phaseOf(snapshot, "first") === "Running" ? [behind("Succeeded")] : [timeOut, stop, terminate];
        },
        follows: (_, event) => {
          if (event.type === "START") return behind("Running");
          return event.type === "JOBS" && event !== skipped ? undefined : follows(_, event);
        },
      },
    ),
    scene(
      "a job that cleans up",
      [start],
      { spec: { jobs: { build: job([step("test")], { if: "always()" }) }, timeout: "1m" } },
      {
        events: (snapshot) => {
          if (snapshot.value === "Pending") return [start];
          if (snapshot.value === "Running") return [stop];
          if (snapshot.value !== "Stopping") return [];
          return phaseOf(snapshot) === "Running"
            ? [at("Succeeded"), timeOut, ...escalation(snapshot), ...places(snapshot)]
            : [at("Cancelled")];
        },
        follows: (snapshot, event) => {
          if (event.type === "STOP") return recorded;
          if (phaseOf(snapshot) === "Stopping" && statusOf(snapshot).reason === "TimedOut") return undefined;
          const ends = event.type === "JOBS" && phaseOf(snapshot) === "Succeeded";
          return ends ? { type: "JOBS_ENDED", now } : follows(snapshot, event);
        },
      },
    ),
    scene(
      "an action that comes at the same moment as the end of a job, and is refused",
      [start],
      { spec: { jobs: { first: job([step("test")]), ...jobs }, parallelism: 1 }, comesWithAction: true },
      {
        events: (snapshot) => {
          if (snapshot.value === "Pending") return [{ type: "START", jobs: ["first", "build"], now }];
          return snapshot.value === "Running" && phaseOf(snapshot, "first") === "Running" ? [both] : [];
        },
        follows: (snapshot, event) => {
          if (event.type === "START") return behind("Running");
          if (event.type === "JOBS") return phaseOf(snapshot, "first") === "Succeeded" ? recorded : undefined;
          return follows(snapshot, event);
        },
      },
    ),
    scene(
      "an action that comes at the same moment as the end of the run, and is refused",
      [start],
      { spec: inline, comesWithAction: true },
      {
        events: (snapshot) =>
          snapshot.value === "Pending" ? [start] : snapshot.value === "Running" ? [at("Succeeded")] : [],
        follows: (snapshot, event) => (event.type === "JOBS_SUCCEEDED" ? recorded : follows(snapshot, event)),
      },
    ),
    scene(
      "a start in suspension",
      [],
      { spec: { ...inline, suspend: true } },
      {
        events: (snapshot) => {
          if (snapshot.value === "Pending") return [specSuspend];
          return snapshot.value === "Suspended" && phaseOf(snapshot) === "Waiting" ? [resume, specResume] : [];
        },
        follows: (snapshot, event) => {
          if (event.type === "SPEC_SUSPEND") return start;
          if (event.type === "RESUME" || event.type === "SPEC_RESUME") return at("Running");
          if (event.type === "START") return undefined;
          if (event.type === "JOBS") return statusOf(snapshot).observedSpecSuspend ? recorded : undefined;
          return follows(snapshot, event);
        },
      },
    ),
    scene(
      "templates that cannot be read, so that it stays Pending",
      [],
      { spec: referring, loses: ({ resource }) => resource.startsWith("controllerrevisions") },
      { events: (snapshot) => (snapshot.value === "Pending" ? [stop, terminate, ...marks(snapshot)] : []) },
    ),
  ],
  arrange: {
    async FREEZE(stage) {
      const { outputs } = stage.surroundings;
      const spec = outputs === undefined ? { jobs } : { jobs, outputs };
      await stage.plane.create(workflows, { metadata: { name: "build", namespace }, spec });
      await stage.exists();
    },
    START: (stage) => stage.exists(),
    INVALID: (stage) => stage.exists(),
    async STOP(stage) {
      await stage.exists();
      await stage.ask("Stop");
    },
    async TERMINATE(stage) {
      await stage.exists();
      await stage.ask("Terminate");
    },
    async SUSPEND(stage) {
      await stage.exists();
      await stage.ask("Suspend");
    },
    async RESUME(stage) {
      await stage.exists();
      await stage.ask("Resume");
    },
    async SPEC_SUSPEND(stage) {
      await stage.exists();
      await stage.setSuspend(true);
    },
    async SPEC_RESUME(stage) {
      await stage.setSuspend(false);
    },
    RETRY: (stage) => stage.ask("Retry", { retry: { restartSuccessful: true, nodeFieldSelector: "job=build" } }),
    RECORD_ACTIONS: byItself,
    FORGET_ACTIONS: byItself,
    async JOBS(stage, event) {
      if (stage.surroundings.comesWithAction) {
        if (event.jobs.first?.phase === "Succeeded") return stage.together("first");
        return event.jobs.build?.phase === "Succeeded" ? stage.together("build") : undefined;
      }
      if (event.jobs.first?.phase === "Succeeded") {
        await stage.hasWorkspace("build");
        stage.loses = ({ verb, resource }) => verb === "create" && resource.startsWith("persistentworkspaces");
        await stage.deleteChild(persistentWorkspaces, await stage.workspaceName("build"));
        return stage.succeed("first", "test");
      }
      switch (event.jobs.build?.phase) {
        case "Succeeded":
          return stage.succeed("build", "test");
        case "Failed":
          return stage.fail("build", "test");
        case "Cancelled":
          return stage.cancelled("build", "test");
        default:
          return;
      }
    },
    JOBS_SUCCEEDED: byItself,
    OUTPUTS_FAILED: byItself,
    JOB_FAILED: byItself,
    JOBS_ENDED: byItself,
    TIME_OUT: byItself,
    WORKSPACE_WAITS: (stage) =>
      stage.setWorkspace("build", { phase: "Pending", reason: "NoReadyRuntimePods", message: "no Pod is ready" }),
    WORKSPACE_READY: (stage) => stage.setWorkspace("build", { phase: "Bound", boundPod: "p", boundPodUID: "u" }),
  },
});
