import { assign, emit, type SnapshotFrom, setup } from "xstate";
import type { AppliedAction, JobStatus, WorkflowRunStatus } from "#api/kinds/workflow-run.ts";
import { hasEnded } from "#api/workflow-phases.ts";
import { cleansUp, isActive, sumOfJobs } from "./derive.ts";
import { cancelReasons, type OutputsFailedReason, outputsFailedReasons } from "./job-status.ts";
import type { TransitionMeta } from "./lib/meta.ts";
import { checkStatus } from "./lib/persist.ts";
import { cannotStartReasons } from "./step-status.ts";
import * as moves from "./workflow-run-status.ts";

/** `now` is milliseconds since the epoch everywhere; the workflow-run controller fires every event. */
export type WorkflowRunEvent =
  /** Templates are referenced and their frozen copy does not exist yet; `name` is the name it is to have. */
  | { type: "FREEZE"; name: string }
  /** The graph is known: `jobs` are the ids of its jobs, `snapshotRef` names the frozen copy if there is one. */
  | { type: "START"; jobs: readonly string[]; snapshotRef?: string; now: number }
  /** It cannot be run as it is written, or what it refers to does not exist. */
  | { type: "INVALID"; reason: moves.InvalidReason; message: string; now: number }
  /** Its jobs as their machines left them. */
  | { type: "JOBS"; jobs: Record<string, JobStatus> }
  /** Derived: every job ended well (see derive.ts); `outputs` are the run's own. */
  | { type: "JOBS_SUCCEEDED"; outputs?: Record<string, string>; now: number }
  /** Every job ended well, but an output of the run has no value or does not fit. */
  | { type: "OUTPUTS_FAILED"; reason: OutputsFailedReason; message: string; now: number }
  /** Derived: every job ended, not all of them well. */
  | { type: "JOB_FAILED"; outputs?: Record<string, string>; now: number }
  /** Derived: it is stopping and every job has ended. */
  | { type: "JOBS_ENDED"; outputs?: Record<string, string>; now: number }
  /** It has taken longer than spec.timeout. */
  | { type: "TIME_OUT"; message: string; now: number }
  /** Somebody wants it to end; jobs that clean up may still run. `bySpec`: asked for by spec.shutdown. */
  | { type: "STOP"; message: string; bySpec?: true; now: number }
  /** Somebody wants it to end at once. */
  | { type: "TERMINATE"; message: string; bySpec?: true; now: number }
  /** Nothing new is to start. */
  | { type: "SUSPEND"; now: number }
  /** It is to go on. */
  | { type: "RESUME"; now: number }
  /** spec.suspend is true, and was not when it was last honoured. */
  | { type: "SPEC_SUSPEND"; now: number }
  /** spec.suspend is not true any more. */
  | { type: "SPEC_RESUME"; now: number }
  /**
   * It is to go on after its end: `jobs` with another attempt of each that runs again; `inputs` are those of the new attempt, if it has
   * others; `suspend` and `shutdown` as the spec has them.
   */
  | {
      type: "RETRY";
      jobs: Record<string, JobStatus>;
      inputs?: Record<string, unknown>;
      suspend?: boolean;
      shutdown?: moves.Shutdown;
      now: number;
    }
  /** What this pass made of WorkflowActions: to be stored together with the effects. */
  | { type: "RECORD_ACTIONS"; records: readonly AppliedAction[] }
  /** Recorded actions whose own status is written, or that are gone, as a live read has confirmed. */
  | { type: "FORGET_ACTIONS"; uids: readonly string[] }
  /** A running job waits for a place for its files. */
  | { type: "WORKSPACE_WAITS"; message: string; now: number }
  /** No running job waits for that any more. */
  | { type: "WORKSPACE_READY"; now: number };

export type WorkflowRunEffect =
  /** Create the frozen copy of the templates that are referenced. */
  { type: "createSnapshot"; name: string };

export interface WorkflowRunContext {
  /** Everything of the status but the phase, which is the state. */
  status: moves.WorkflowRunFields;
}

const charts = setup({
  types: {
    context: {} as WorkflowRunContext,
    events: {} as WorkflowRunEvent,
    emitted: {} as WorkflowRunEffect,
    tags: {} as "terminal",
    transitionMeta: {} as TransitionMeta,
  },
  actions: {
    createSnapshot: emit((_, { name }: { name: string }) => ({ type: "createSnapshot" as const, name })),
  },
  guards: {
    /** A job differs from what stands there. */
    jobsChanged: ({ context }, { jobs }: { jobs: Record<string, JobStatus> }) =>
      moves.jobsChanged(context.status, jobs),
    everyJobSucceeded: ({ context }) => sumOfJobs(Object.values(context.status.jobs ?? {})) === "Succeeded",
    aJobFailed: ({ context }) => sumOfJobs(Object.values(context.status.jobs ?? {})) === "Failed",
    aJobIsActive: ({ context }) => Object.values(context.status.jobs ?? {}).some(isActive),
    everyJobEnded: ({ context }) => Object.values(context.status.jobs ?? {}).every(({ phase }) => hasEnded(phase)),
    isSuspended: ({ context }) => context.status.suspended === true,
    isNotSuspended: ({ context }) => context.status.suspended !== true,
    /** spec.suspend was not true when it was last honoured. */
    specDidNotSuspend: ({ context }) => context.status.observedSpecSuspend !== true,
    specSuspended: ({ context }) => context.status.observedSpecSuspend === true,
    notAskedToEnd: ({ context }) => context.status.shutdown === undefined,
    /** It was stopped, and jobs that clean up were not asked to end. */
    cleansUp: ({ context }) => cleansUp(context.status),
    notTerminated: ({ context }) => context.status.shutdown !== "Terminate",
    /** One of these actions is recorded. */
    knowsAny: ({ context }, { uids }: { uids: readonly string[] }) => moves.knowsAny(context.status, uids),
    /** The condition WorkspaceReady does not say this yet. */
    waitIsNews: ({ context }, { message }: { message: string }) =>
      moves.isNews(context.status, moves.workspaceWaits(message)),
    /** The condition WorkspaceReady says that a job waits. */
    waited: ({ context }) => moves.waited(context.status),
  },
});

/** In every state: actions are stored with their outcome before they are told, and forgotten afterwards. */
const recordedActions = charts.createStateConfig({
  on: {
    RECORD_ACTIONS: {
      actions: assign(({ context, event }) => ({ status: moves.record(context.status, event.records) })),
      description: "What was made of WorkflowActions is stored, before they are told.",
      meta: { writer: "controller" },
    },
    FORGET_ACTIONS: {
      guard: { type: "knowsAny", params: ({ event }) => event },
      actions: assign(({ context, event }) => ({ status: moves.forgetActions(context.status, event.uids) })),
      description: "Actions that were told, or are gone, need no record any more.",
      meta: { writer: "controller" },
    },
  },
}).on;

/** While it has jobs that move. */
const movingJobs = charts.createStateConfig({
  on: {
    JOBS: {
      guard: { type: "jobsChanged", params: ({ event }) => event },
      actions: assign(({ context, event }) => ({ status: moves.setJobs(context.status, event.jobs) })),
      description: "A job moved.",
      meta: { writer: "controller" },
    },
  },
}).on;

/** As long as jobs may wait for a place for their files; those that clean up, too. */
const placesForFiles = charts.createStateConfig({
  on: {
    WORKSPACE_WAITS: {
      guard: { type: "waitIsNews", params: ({ event }) => event },
      actions: assign(({ context, event }) => ({
        status: moves.set(context.status, moves.workspaceWaits(event.message), event.now),
      })),
      description: "A running job waits for a place for its files.",
      meta: { writer: "controller", reason: "WorkspaceCapacity" },
    },
    WORKSPACE_READY: {
      guard: "waited",
      actions: assign(({ context, event }) => ({
        status: moves.set(context.status, moves.workspaceReady, event.now),
      })),
      description: "No running job waits for that any more.",
      meta: { writer: "controller", reason: "WorkspaceAvailable" },
    },
  },
}).on;

/** As long as nobody has asked it to end, suspended or not. */
const whileOpen = charts.createStateConfig({
  on: {
    TIME_OUT: [
      {
        guard: "aJobIsActive",
        target: "Stopping",
        actions: assign(({ context, event }) => ({
          status: moves.stop(context.status, { ...event, reason: "TimedOut" }),
        })),
        description: "It took longer than spec.timeout: jobs at work are asked to end, the others are skipped.",
        meta: { writer: "controller", reason: "TimedOut" },
      },
      {
        target: "Failed",
        actions: assign(({ context, event }) => ({
          status: moves.fail(context.status, { ...event, reason: "TimedOut" }),
        })),
        description: "It took longer than spec.timeout, and no job is at work.",
        meta: { writer: "controller", reason: "TimedOut" },
      },
    ],
    STOP: {
      target: "Stopping",
      actions: assign(({ context, event }) => ({ status: moves.shutDown(context.status, "Stop", event) })),
      description: "It is stopped: jobs at work are asked to end, jobs that clean up may run, the others are skipped.",
      meta: { writer: "controller", reason: "Stopped" },
    },
    TERMINATE: [
      {
        guard: "aJobIsActive",
        target: "Stopping",
        actions: assign(({ context, event }) => ({
          status: moves.shutDown(context.status, "Terminate", event),
        })),
        description: "It is terminated: jobs at work are asked to end, the others are skipped.",
        meta: { writer: "controller", reason: "Terminated" },
      },
      {
        target: "Failed",
        actions: assign(({ context, event }) => ({
          status: moves.shutDownNow(context.status, "Terminate", event),
        })),
        description: "It is terminated, and no job is at work.",
        meta: { writer: "controller", reason: "Terminated" },
      },
    ],
    ...recordedActions,
    ...placesForFiles,
  },
}).on;

/** The life of a WorkflowRun: its phase follows from its jobs. */
export const workflowRunMachine = charts.createMachine({
  id: "workflow-run",
  description: "A WorkflowRun is a graph of jobs; it has ended when all of them have.",
  context: { status: {} },
  initial: "Pending",
  states: {
    Pending: {
      description: "Its graph is not known yet: templates are fetched, checked and frozen.",
      on: {
        FREEZE: {
          actions: { type: "createSnapshot", params: ({ event }) => event },
          description: "Templates are referenced: a copy is frozen first, the next pass starts from it.",
          meta: { writer: "controller" },
        },
        START: [
          {
            guard: "isSuspended",
            target: "Suspended",
            actions: assign(({ context, event }) => ({ status: moves.start(context.status, event) })),
            description: "The graph is known: its jobs are listed, the time begins to count, and nothing starts.",
            meta: { writer: "controller" },
          },
          {
            target: "Running",
            actions: assign(({ context, event }) => ({ status: moves.start(context.status, event) })),
            description: "The graph is known: its jobs are listed, the time begins to count.",
            meta: { writer: "controller" },
          },
        ],
        STOP: {
          target: "Failed",
          actions: assign(({ context, event }) => ({ status: moves.shutDownNow(context.status, "Stop", event) })),
          description: "It is stopped before it began.",
          meta: { writer: "controller", reason: "Stopped" },
        },
        TERMINATE: {
          target: "Failed",
          actions: assign(({ context, event }) => ({ status: moves.shutDownNow(context.status, "Terminate", event) })),
          description: "It is terminated before it began.",
          meta: { writer: "controller", reason: "Terminated" },
        },
        SUSPEND: {
          guard: "isNotSuspended",
          actions: assign(({ context, event }) => ({ status: moves.suspend(context.status, event.now) })),
          description: "It will begin suspended.",
          meta: { writer: "controller", reason: "Suspended" },
        },
        RESUME: {
          guard: "isSuspended",
          actions: assign(({ context, event }) => ({ status: moves.resume(context.status, event.now) })),
          description: "It will not begin suspended.",
          meta: { writer: "controller", reason: "Resumed" },
        },
        SPEC_SUSPEND: {
          guard: "specDidNotSuspend",
          actions: assign(({ context, event }) => ({ status: moves.followSpec(context.status, true, event.now) })),
          description: "It is to start suspended, as spec.suspend says.",
          meta: { writer: "controller", reason: "Suspended" },
        },
        SPEC_RESUME: {
          guard: "specSuspended",
          actions: assign(({ context, event }) => ({ status: moves.followSpec(context.status, false, event.now) })),
          description: "spec.suspend was taken away before it began.",
          meta: { writer: "controller", reason: "Resumed" },
        },
        ...recordedActions,
        INVALID: {
          target: "Failed",
          actions: assign(({ context, event }) => ({ status: moves.fail(context.status, event) })),
          description: "It cannot be run as it is written, or what it refers to does not exist.",
          meta: { writer: "controller", reason: moves.invalidReasons },
        },
      },
    },
    Running: {
      description: "Jobs are at work or wait for their turn.",
      on: {
        ...movingJobs,
        JOBS_SUCCEEDED: {
          guard: "everyJobSucceeded",
          target: "Succeeded",
          actions: assign(({ context, event }) => ({ status: moves.succeed(context.status, event) })),
          description: "Every job ended well; the outputs of the run are recorded.",
          meta: { writer: "controller", reason: "RunCompleted" },
        },
        OUTPUTS_FAILED: {
          guard: "everyJobSucceeded",
          target: "Failed",
          actions: assign(({ context, event }) => ({ status: moves.fail(context.status, event) })),
          description: "Every job ended well, but an output of the run has no value or does not fit.",
          meta: { writer: "controller", reason: outputsFailedReasons },
        },
        JOB_FAILED: {
          guard: "aJobFailed",
          target: "Failed",
          actions: assign(({ context, event }) => ({ status: moves.failByJob(context.status, event) })),
          description: "Every job ended, not all of them well.",
          meta: { writer: "controller", reason: ["JobFailed", "WorkspaceLost", ...cannotStartReasons] },
        },
        SUSPEND: {
          target: "Suspended",
          actions: assign(({ context, event }) => ({ status: moves.suspend(context.status, event.now) })),
          description: "Nothing new is started; what runs goes on.",
          meta: { writer: "controller", reason: "Suspended" },
        },
        SPEC_SUSPEND: {
          guard: "specDidNotSuspend",
          target: "Suspended",
          actions: assign(({ context, event }) => ({ status: moves.followSpec(context.status, true, event.now) })),
          description: "Nothing new is started, as spec.suspend says.",
          meta: { writer: "controller", reason: "Suspended" },
        },
        SPEC_RESUME: {
          guard: "specSuspended",
          actions: assign(({ context, event }) => ({ status: moves.followSpec(context.status, false, event.now) })),
          description: "spec.suspend was taken away; it was resumed before.",
          meta: { writer: "controller" },
        },
        ...whileOpen,
      },
    },
    Suspended: {
      description: "Jobs at work go on and nothing new is started; it ends when it was resumed, or is stopped.",
      on: {
        ...movingJobs,
        RESUME: {
          target: "Running",
          actions: assign(({ context, event }) => ({ status: moves.resume(context.status, event.now) })),
          description: "It goes on.",
          meta: { writer: "controller", reason: "Resumed" },
        },
        SPEC_SUSPEND: {
          guard: "specDidNotSuspend",
          actions: assign(({ context, event }) => ({ status: moves.followSpec(context.status, true, event.now) })),
          description: "spec.suspend says so, too.",
          meta: { writer: "controller" },
        },
        SPEC_RESUME: {
          guard: "specSuspended",
          target: "Running",
          actions: assign(({ context, event }) => ({ status: moves.followSpec(context.status, false, event.now) })),
          description: "It goes on, as spec.suspend says.",
          meta: { writer: "controller", reason: "Resumed" },
        },
        ...whileOpen,
      },
    },
    Stopping: {
      description: "Jobs at work were asked to end and have not all ended yet.",
      on: {
        ...movingJobs,
        SUSPEND: {
          guard: "isNotSuspended",
          actions: assign(({ context, event }) => ({ status: moves.suspend(context.status, event.now) })),
          description: "It ends all the same; that it is suspended is noted.",
          meta: { writer: "controller", reason: "Suspended" },
        },
        RESUME: {
          guard: "isSuspended",
          actions: assign(({ context, event }) => ({ status: moves.resume(context.status, event.now) })),
          description: "The mark is taken away; it ends all the same.",
          meta: { writer: "controller", reason: "Resumed" },
        },
        SPEC_SUSPEND: {
          guard: "specDidNotSuspend",
          actions: assign(({ context, event }) => ({ status: moves.followSpec(context.status, true, event.now) })),
          description: "It ends all the same; spec.suspend is noted.",
          meta: { writer: "controller", reason: "Suspended" },
        },
        SPEC_RESUME: {
          guard: "specSuspended",
          actions: assign(({ context, event }) => ({ status: moves.followSpec(context.status, false, event.now) })),
          description: "It ends all the same; spec.suspend is noted.",
          meta: { writer: "controller", reason: "Resumed" },
        },
        TIME_OUT: {
          guard: "cleansUp",
          actions: assign(({ context, event }) => ({
            status: moves.stop(context.status, { ...event, reason: "TimedOut" }),
          })),
          description: "It was stopped, and jobs that clean up took longer than spec.timeout: they are asked to end.",
          meta: { writer: "controller", reason: "TimedOut" },
        },
        STOP: {
          guard: "notAskedToEnd",
          actions: assign(({ context, event }) => ({ status: moves.shutDown(context.status, "Stop", event) })),
          description: "It is ending already, for lack of time: that it is to stop is noted.",
          meta: { writer: "controller" },
        },
        TERMINATE: {
          guard: "notTerminated",
          actions: assign(({ context, event }) => ({
            status: moves.shutDown(context.status, "Terminate", event),
          })),
          description: "It is ending already, and now at once.",
          meta: { writer: "controller", reason: "Terminated" },
        },
        ...recordedActions,
        ...placesForFiles,
        JOBS_ENDED: {
          guard: "everyJobEnded",
          target: "Failed",
          actions: assign(({ context, event }) => ({ status: moves.stopped(context.status, event) })),
          description: "No job is at work or is to clean up any more.",
          meta: { writer: "controller", reason: cancelReasons },
        },
      },
    },
    Succeeded: {
      tags: ["terminal"],
      description: "Every job ended well.",
      on: {
        RETRY: {
          target: "Running",
          actions: assign(({ context, event }) => ({ status: moves.retry(context.status, event) })),
          description: "Jobs that succeeded run again: the next attempt begins.",
          meta: { writer: "controller", reopens: true },
        },
        ...recordedActions,
      },
    },
    Failed: {
      tags: ["terminal"],
      description: "A job did not end well, or the run was ended, or it never could run.",
      on: {
        RETRY: {
          target: "Running",
          actions: assign(({ context, event }) => ({ status: moves.retry(context.status, event) })),
          description: "Jobs that have something left to do run again: the next attempt begins.",
          meta: { writer: "controller", reopens: true },
        },
        ...recordedActions,
      },
    },
  },
});

export type WorkflowRunSnapshot = SnapshotFrom<typeof workflowRunMachine>;

/**
 * The snapshot of a persisted status; without a status the run has just been created.
 * @throws UnknownPhaseError, MalformedStatusError
 */
export function restoreWorkflowRun(status: WorkflowRunStatus | undefined): WorkflowRunSnapshot {
  const persisted = status ?? { phase: "Pending" as const };
  checkStatus(workflowRunMachine.id, persisted, Object.keys(workflowRunMachine.states), {
    attempt: "count",
    startTime: "time",
    jobs: "map",
    conditions: "conditions",
  });
  const { phase, ...fields } = persisted;
  return workflowRunMachine.resolveState({ value: phase, context: { status: fields } });
}

/** The status to persist; the inverse of {@link restoreWorkflowRun}. */
export function workflowRunStatus(snapshot: WorkflowRunSnapshot): WorkflowRunStatus {
  return { phase: snapshot.value, ...snapshot.context.status };
}
