import type { AnyMachineSnapshot } from "xstate";
import type { JobStatus, StepStatus, WorkflowRunSpec } from "#api/kinds/workflow-run.ts";
import { persistentWorkspaces } from "#api/resources.ts";
import { type JobEvent, restoreJob } from "#machines/job.ts";
import { arranged, byItself, type Scene } from "./arranged.ts";
import { artifact, job, step, WorkflowStage } from "./workflow-stage.ts";

const now = 1_751_803_200_000;
const message = "text for people";
const completionTime = "2025-07-06T12:00:08.000000Z";
/** The subject has two steps, `test` and `package`; `first` is a job beside it. */
const subject = "build";

type Phases = readonly [StepStatus["phase"], StepStatus["phase"]];

const stepAt = (name: string, phase: StepStatus["phase"]): StepStatus => ({
  name,
  phase,
  ...(phase !== "Waiting" && { attempt: 1, runName: `ci-build-${name}-1a2b3c4d` }),
  ...(["Succeeded", "Failed", "Cancelled"].includes(phase) && { completionTime }),
  ...(["Failed", "Skipped"].includes(phase) && { completionTime, reason: "ExitNonZero", message }),
});

const stepsAt = ([test, pack]: Phases): StepStatus[] => [stepAt("test", test), stepAt("package", pack)];
const steps = (...phases: Phases): JobEvent => ({ type: "STEPS", steps: stepsAt(phases) });

const ready: JobEvent = { type: "READY", steps: ["test", "package"], now };
const start: JobEvent = { type: "START", now };
const skip = (reason: "NeedsNotSucceeded" | "TimedOut"): JobEvent => ({ type: "SKIP", reason, message, now });
const cancel: JobEvent = { type: "CANCEL", reason: "TimedOut", message, now };
const cannotStart: JobEvent = { type: "CANNOT_START", reason: "ArtifactMissing", message, now };
const outputsFailed: JobEvent = { type: "OUTPUTS_FAILED", reason: "ExpressionFailed", message, now };
const timeOut: JobEvent = { type: "TIME_OUT", message, now };
const retry = (reason: "StepFailed" | "Timeout"): JobEvent => ({ type: "RETRY", reason, message, notBefore: now, now });
const replace: JobEvent = { type: "REPLACE_WORKSPACE", message, now };
const taken: JobEvent = { type: "NAME_TAKEN", message, now };
const missing: JobEvent = { type: "WORKSPACE_MISSING" };
const refused: JobEvent = { type: "WORKSPACE_REFUSED", message, now };

const statusOf = (snapshot: AnyMachineSnapshot) => (snapshot as ReturnType<typeof restoreJob>).context.status;
const phasesOf = (snapshot: AnyMachineSnapshot) => statusOf(snapshot).steps?.map(({ phase }) => phase) ?? [];

/** What the steps come to, and the end of a step that was asked to. */
function follows(snapshot: AnyMachineSnapshot, event: JobEvent): JobEvent | undefined {
  const [test, pack] = phasesOf(snapshot);
  if (snapshot.value === "Stopping") {
    if (test === "Running") return steps("Stopping", "Waiting");
    if (test === "Suspended") return steps("Cancelled", "Skipped");
    return test === "Cancelled" || test === "Waiting" ? { type: "STEPS_ENDED", now } : undefined;
  }
  switch (event.type) {
    case "READY":
      return start;
    case "START":
      return steps("Running", "Waiting");
    case "STEPS":
      if (pack === "Succeeded") return { type: "STEPS_SUCCEEDED", now };
      if (test === "Failed") return { type: "STEP_FAILED", now };
      return test === "Succeeded" && pack === "Waiting" ? { type: "WORKSPACE_LOST", message, now } : undefined;
    default:
      return undefined;
  }
}

/** Of a job that has a Runtime and nobody beside it. */
function events(snapshot: AnyMachineSnapshot): JobEvent[] {
  const [test, pack] = phasesOf(snapshot);
  switch (snapshot.value) {
    case "Waiting":
      return [ready];
    case "Running":
      if (pack === "Running") return [steps("Succeeded", "Succeeded"), cancel];
      return [
        steps("Succeeded", "Running"),
        steps("Failed", "Skipped"),
        steps("Succeeded", "Waiting"),
        ...[replace, missing, taken, refused, cancel],
      ];
    case "Stopping":
      // Where it could clean up, the step that does not is skipped in its turn.
      if (test !== "Stopping") return [];
      return [steps("Cancelled", statusOf(snapshot).stopTime === undefined ? "Waiting" : "Skipped")];
    default:
      return [];
  }
}

interface Setting {
  readonly name: string;
  readonly spec: WorkflowRunSpec;
  readonly hasRuntime?: false;
  /** Where the job is when the paths begin, with no name left for its workspace; by default at its beginning. */
  readonly usedUp?: JobStatus;
  readonly hasNeighbours?: true;
  readonly events: (snapshot: AnyMachineSnapshot) => JobEvent[];
  readonly follows?: (snapshot: AnyMachineSnapshot, event: JobEvent) => JobEvent | undefined;
}

function scene(setting: Setting): Scene<WorkflowStage, JobEvent> {
  const { name, spec, hasRuntime = true, usedUp, hasNeighbours } = setting;
  return {
    name,
    start: restoreJob(usedUp),
    ...(hasNeighbours && { hasNeighbours }),
    events: setting.events,
    follows: setting.follows ?? follows,
    async build() {
      const stateOf: ConstructorParameters<typeof WorkflowStage>[1] = ({ status }) =>
        status?.jobs?.[subject]?.phase ?? "Waiting";
      const stage = new WorkflowStage({ spec, hasRuntime }, stateOf);
      await stage.start();
      if (usedUp !== undefined) {
        await stage.exists();
        await stage.hasWorkspace(subject);
        await stage.useUpNames(subject);
        await stage.hasWorkspace(subject);
      }
      return stage;
    },
  };
}

const build = job([step("test"), step("package")]);
const timeout = "1m";
const alone: WorkflowRunSpec = { jobs: { build }, timeout };
const queued: WorkflowRunSpec = { jobs: { first: job([step("test")]), build }, parallelism: 1, timeout };
const consumer = job(
  [{ ...step("test"), artifacts: [{ from: "jobs.first.artifacts.dist", path: "dist" }] }, step("package")],
  {
    needs: ["first"],
  },
);
const needing: WorkflowRunSpec = { jobs: { first: job([step("test")]), build: consumer }, timeout };
const withOutputs = { ...build, outputs: { version: "${{ steps.test.outputs.version }}" } };

/** After so many names that were taken, or lost. */
const exhausted = (phase: "Queued" | "Running", ...phases: Phases): JobStatus => ({
  phase,
  attempt: 1,
  collision: 100,
  steps: stepsAt(phases),
});

const nothing = () => undefined;

/** A job without a Runtime: nothing begins, and nothing has to be cleaned up. */
function followsNothing(_: AnyMachineSnapshot, { type }: JobEvent): JobEvent | undefined {
  if (type === "READY") return start;
  return type === "CANCEL" || type === "TIME_OUT" ? { type: "STEPS_ENDED", now } : undefined;
}

const cleaning = job([step("test"), { ...step("package"), if: "always()" }], { timeout: "30s" });

/** A job whose second step cleans up. */
function followsCleaning(snapshot: AnyMachineSnapshot, event: JobEvent): JobEvent | undefined {
  const [test, pack] = phasesOf(snapshot);
  if (snapshot.value !== "Stopping" || test !== "Cancelled") return follows(snapshot, event);
  return pack === "Succeeded" ? { type: "STEPS_ENDED", now } : undefined;
}

const gated = job([{ name: "test", suspend: {} }, step("package")]);
const resumed = steps("Succeeded", "Waiting");

/** A job that begins with a gate. */
function followsGate(snapshot: AnyMachineSnapshot, event: JobEvent): JobEvent | undefined {
  if (event.type === "START") return steps("Suspended", "Waiting");
  return event === resumed
    ? steps("Succeeded", "Running")
    : event.type === "STEPS" && snapshot.value !== "Stopping"
      ? undefined
      : follows(snapshot, event);
}

const hasLimit: WorkflowRunSpec = { jobs: { build: { ...build, timeout: "30s" } } };
const mayRepeat: WorkflowRunSpec = { jobs: { build: { ...build, timeout: "30s", retry: { attempts: 2 } } } };

/** A job whose first attempt is followed by another one when it fails. */
function followsTwice(snapshot: AnyMachineSnapshot, event: JobEvent): JobEvent | undefined {
  if (event.type === "RETRY") return start;
  const next = follows(snapshot, event);
  if (statusOf(snapshot).attempt !== 1) return next;
  if (next?.type === "STEP_FAILED") return retry("StepFailed");
  return next?.type === "STEPS_ENDED" ? retry("Timeout") : next;
}

export const jobArrangements = arranged<WorkflowStage, JobEvent>({
  scenes: [
    scene({ name: "a job by itself", spec: alone, events }),
    scene({
      name: "a job without a Runtime",
      spec: alone,
      hasRuntime: false,
      events: ({ value }) =>
        value === "Waiting" ? [ready] : value === "Running" ? [replace, missing, taken, refused, cancel] : [],
      follows: followsNothing,
    }),
    scene({
      name: "a job without a Runtime and without another name",
      spec: alone,
      hasRuntime: false,
      usedUp: exhausted("Running", "Waiting", "Waiting"),
      events: ({ value }) => (value === "Running" ? [replace, taken] : []),
      follows: nothing,
    }),
    scene({
      name: "a job at work without another name",
      spec: alone,
      usedUp: exhausted("Running", "Running", "Waiting"),
      events: ({ value }) => (value === "Running" ? [replace, taken] : []),
    }),
    scene({
      name: "a job behind another one",
      spec: queued,
      hasNeighbours: true,
      events: ({ value }) =>
        value === "Waiting"
          ? [ready]
          : value === "Queued"
            ? [start, skip("TimedOut"), replace, missing, taken, refused]
            : [],
      follows: (snapshot, event) => (event.type === "READY" ? undefined : follows(snapshot, event)),
    }),
    scene({
      name: "a job behind another one, without another name",
      spec: queued,
      hasNeighbours: true,
      usedUp: exhausted("Queued", "Waiting", "Waiting"),
      events: ({ value }) => (value === "Queued" ? [replace, taken] : []),
    }),
    scene({
      name: "a job that needs another one",
      spec: needing,
      hasNeighbours: true,
      events: ({ value }) => (value === "Waiting" ? [ready, skip("NeedsNotSucceeded"), cannotStart] : []),
    }),
    scene({
      name: "a job with a time limit",
      spec: hasLimit,
      events: (snapshot) => (snapshot.value === "Running" ? [timeOut] : events(snapshot)),
    }),
    scene({
      name: "a job with a time limit and without a Runtime",
      spec: hasLimit,
      hasRuntime: false,
      events: ({ value }) => (value === "Waiting" ? [ready] : value === "Running" ? [timeOut] : []),
      follows: followsNothing,
    }),
    scene({
      name: "a job that cleans up when its time is over",
      spec: { jobs: { build: cleaning } },
      events: (snapshot) => {
        const [test, pack] = phasesOf(snapshot);
        if (snapshot.value !== "Stopping") return snapshot.value === "Running" ? [timeOut] : events(snapshot);
        if (test === "Stopping") return [steps("Cancelled", "Running")];
        return pack === "Running" ? [steps("Cancelled", "Succeeded")] : [];
      },
      follows: followsCleaning,
    }),
    scene({
      name: "a job with a gate",
      spec: { jobs: { build: gated }, timeout },
      events: ({ value }) => (value === "Waiting" ? [ready] : value === "Suspended" ? [resumed, cancel] : []),
      follows: followsGate,
    }),
    scene({
      name: "a job with a gate and a time limit",
      spec: { jobs: { build: { ...gated, timeout: "30s" } } },
      events: ({ value }) => (value === "Waiting" ? [ready] : value === "Suspended" ? [timeOut] : []),
      follows: followsGate,
    }),
    scene({
      name: "a job that may be tried again",
      spec: mayRepeat,
      events: (snapshot) => (snapshot.value === "Running" ? [steps("Failed", "Skipped"), timeOut] : events(snapshot)),
      follows: followsTwice,
    }),
    scene({
      name: "a job with an output that its steps do not give",
      spec: { jobs: { build: withOutputs }, timeout },
      events: (snapshot) => events(snapshot).filter(({ type }) => type === "READY" || type === "STEPS"),
      follows: (snapshot, event) => {
        const next = follows(snapshot, event);
        return next?.type === "STEPS_SUCCEEDED" ? outputsFailed : next;
      },
    }),
  ],
  arrange: {
    async READY(stage) {
      await stage.exists();
      if (hasFirst(stage) && stage.surroundings.spec.parallelism === undefined) {
        await stage.succeed("first", "test", { artifactRefs: [artifact("dist")] });
      }
    },
    async CANNOT_START(stage) {
      await stage.exists();
      await stage.succeed("first", "test");
    },
    async SKIP(stage, { reason }) {
      if (reason === "TimedOut") return; // time does it
      await stage.exists();
      await stage.fail("first", "test");
    },
    async START(stage) {
      if (stage.surroundings.spec.parallelism !== undefined) await stage.succeed("first", "test");
    },
    async STEPS(stage, event) {
      if (event === resumed) return stage.ask("Resume");
      if (stage.surroundings.spec.jobs?.build?.steps?.[0]?.suspend !== undefined) return; // by itself
      switch (event.steps.map(({ phase }) => phase).join(" ")) {
        case "Succeeded Running":
          return stage.succeed(subject, "test");
        case "Succeeded Succeeded":
          return stage.succeed(subject, "package");
        case "Failed Skipped":
          return stage.fail(subject, "test");
        case "Cancelled Waiting":
        case "Cancelled Skipped":
        case "Cancelled Running":
          return stage.cancelled(subject, "test");
        case "Cancelled Succeeded":
          return stage.succeed(subject, "package");
        case "Succeeded Waiting":
          // The files go while the first step is at work, so the second one cannot begin.
          await stage.claim(subject, "test");
          await stage.loseWorkspace(subject);
          return stage.succeed(subject, "test");
        default:
          return; // by itself
      }
    },
    STEPS_SUCCEEDED: byItself,
    STEP_FAILED: byItself,
    STEPS_ENDED: byItself,
    OUTPUTS_FAILED: byItself,
    WORKSPACE_LOST: byItself,
    REPLACE_WORKSPACE: (stage) => stage.loseWorkspace(subject),
    async WORKSPACE_MISSING(stage) {
      await stage.hasWorkspace(subject);
      await stage.deleteChild(persistentWorkspaces, await stage.workspaceName(subject));
    },
    async NAME_TAKEN(stage) {
      await stage.hasWorkspace(subject);
      await stage.usurp(persistentWorkspaces, await stage.workspaceName(subject));
    },
    async WORKSPACE_REFUSED(stage) {
      await stage.hasWorkspace(subject);
      stage.refuses = persistentWorkspaces.kind;
      await stage.deleteChild(persistentWorkspaces, await stage.workspaceName(subject));
    },
    TIME_OUT: byItself,
    RETRY: byItself,
    CANCEL: byItself,
  },
});

const hasFirst = ({ surroundings }: WorkflowStage): boolean => surroundings.spec.jobs?.first !== undefined;
