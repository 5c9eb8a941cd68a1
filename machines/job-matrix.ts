import { assign, type SnapshotFrom, setup } from "xstate";
import type { FormerInstance, JobStatus } from "#api/kinds/workflow-run.ts";
import * as moves from "./job-status.ts";
import type { TransitionMeta } from "./lib/meta.ts";
import { checkStatus } from "./lib/persist.ts";
import { type CannotStartReason, cannotStartReasons } from "./step-status.ts";

/** Why a job with a matrix failed: what its instance says, if that tells more than that it did. */
export const instanceFailedReasons = ["JobFailed", "WorkspaceLost", ...cannotStartReasons] as const;
export type InstanceFailedReason = (typeof instanceFailedReasons)[number];

/** `now` is milliseconds since the epoch everywhere; the workflow-run controller fires every event. */
export type JobMatrixEvent =
  /** Every job that it needs ended, its `if` holds, and the values of its matrix are known; `former` are not among them any more. */
  | { type: "EXPAND"; instances: number; former?: FormerInstance[]; now: number }
  /** It is due, and its matrix has no values. */
  | { type: "CANNOT_START"; reason: CannotStartReason; message: string; continued?: boolean; now: number }
  /** It will never run. */
  | { type: "SKIP"; reason: moves.JobSkipReason; message: string; now: number }
  /** Derived: every instance ended well; `outputs` are theirs, put together. */
  | { type: "INSTANCES_SUCCEEDED"; outputs?: Record<string, string>; now: number }
  /** Derived: every instance ended, not all of them well. */
  | {
      type: "INSTANCE_FAILED";
      reason: InstanceFailedReason;
      message: string;
      outputs?: Record<string, string>;
      now: number;
    }
  /** Derived: every instance ended, since the workflow must end. */
  | {
      type: "INSTANCES_CANCELLED";
      reason: moves.JobCancelReason;
      message: string;
      outputs?: Record<string, string>;
      now: number;
    };

export interface JobMatrixContext {
  /** Everything of the status but the phase, which is the state. */
  status: moves.JobFields;
}

/** The life of a job with a matrix: the jobs that it stands for are instances, beside it in `status.jobs`. */
export const jobMatrixMachine = setup({
  types: {
    context: {} as JobMatrixContext,
    events: {} as JobMatrixEvent,
    tags: {} as "terminal",
    transitionMeta: {} as TransitionMeta,
  },
}).createMachine({
  id: "job-matrix",
  description: "A job with a matrix stands for its instances: they run, and its phase follows from theirs.",
  context: { status: {} },
  initial: "Waiting",
  states: {
    Waiting: {
      description: "Jobs that it needs have not ended yet.",
      on: {
        EXPAND: {
          target: "Running",
          actions: assign(({ context, event }) => ({
            status: moves.expand(context.status, event),
          })),
          description: "Everything that it needs is there: its instances are listed.",
          meta: { writer: "controller" },
        },
        CANNOT_START: {
          target: "Failed",
          actions: assign(({ context, event }) => ({ status: moves.close(context.status, event) })),
          description: "Its matrix has no values, or too many.",
          meta: { writer: "controller", reason: cannotStartReasons },
        },
        SKIP: {
          target: "Skipped",
          actions: assign(({ context, event }) => ({ status: moves.close(context.status, event) })),
          description: "Its `if` does not hold, a job that it needs did not succeed, or the workflow ends.",
          meta: { writer: "controller", reason: moves.jobSkipReasons },
        },
      },
    },
    Running: {
      description: "Its instances run, or wait for their turn.",
      on: {
        INSTANCES_SUCCEEDED: {
          target: "Succeeded",
          actions: assign(({ context, event }) => ({ status: moves.succeed(context.status, event) })),
          description: "Every instance ended well; their outputs are put together.",
          meta: { writer: "controller" },
        },
        INSTANCE_FAILED: {
          target: "Failed",
          actions: assign(({ context, event }) => ({ status: moves.close(context.status, event) })),
          description: "Every instance ended, not all of them well.",
          meta: { writer: "controller", reason: instanceFailedReasons },
        },
        INSTANCES_CANCELLED: {
          target: "Cancelled",
          actions: assign(({ context, event }) => ({ status: moves.close(context.status, event) })),
          description: "Every instance ended, since the workflow must end.",
          meta: { writer: "controller", reason: moves.jobCancelReasons },
        },
      },
    },
    Succeeded: { tags: ["terminal"], description: "Every instance ended well." },
    Failed: { tags: ["terminal"], description: "An instance ended badly, or the matrix could not be read." },
    Cancelled: { tags: ["terminal"], description: "Its instances were ended because the workflow had to end." },
    Skipped: { tags: ["terminal"], description: "It never ran." },
  },
});

export type JobMatrixSnapshot = SnapshotFrom<typeof jobMatrixMachine>;

/**
 * The snapshot of a persisted status; without a status the job has not begun.
 * @throws UnknownPhaseError, MalformedStatusError
 */
export function restoreJobMatrix(status: JobStatus | undefined): JobMatrixSnapshot {
  const persisted = status ?? { phase: "Waiting" };
  checkStatus(jobMatrixMachine.id, persisted, Object.keys(jobMatrixMachine.states), {
    attempt: "count",
    instances: "count",
    startTime: "time",
  });
  const { phase, ...fields } = persisted;
  return jobMatrixMachine.resolveState({ value: phase, context: { status: fields } });
}

/** The status to persist; the inverse of {@link restoreJobMatrix}. */
export function jobMatrixStatus(snapshot: JobMatrixSnapshot): JobStatus {
  return { phase: snapshot.value, ...snapshot.context.status };
}
