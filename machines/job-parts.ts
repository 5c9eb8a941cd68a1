import { emit, setup } from "xstate";
import type { ArtifactRef } from "#api/kinds/artifact-ref.ts";
import type { StepStatus } from "#api/kinds/workflow-run.ts";
import { isActive, mustStartAnother, noStepEnded, sumOfSteps } from "./derive.ts";
import * as moves from "./job-status.ts";
import type { TransitionMeta } from "./lib/meta.ts";
import { type CannotStartReason, hasNamesLeft } from "./step-status.ts";

/**
 * `now` is milliseconds since the epoch everywhere; the workflow-run controller fires every event. `continued` means: should it fail
 * now, that is no failure of the run, by its `continue-on-error`. `outputs` of a job without success are its own that have a value.
 */
export type JobEvent =
  /** Every job that it needs ended, and its `if` holds; `steps` are the names of its steps in order. */
  | { type: "READY"; steps: readonly string[]; now: number }
  /** It is due, and an expression or an artifact that it needs has no value. */
  | { type: "CANNOT_START"; reason: CannotStartReason; message: string; continued?: boolean; now: number }
  /** It will never run. */
  | { type: "SKIP"; reason: moves.JobSkipReason; message: string; now: number }
  /** There is a place for it under `spec.parallelism`. */
  | { type: "START"; now: number }
  /** Its steps as their machines left them, and the artifacts of child Runs that succeeded since the last time. */
  | { type: "STEPS"; steps: StepStatus[]; artifacts?: readonly ArtifactRef[] }
  /** Derived: every step ended well (see derive.ts); `outputs` are the job's own. */
  | { type: "STEPS_SUCCEEDED"; outputs?: Record<string, string>; now: number }
  /** Derived: every step ended, not all of them well. */
  | { type: "STEP_FAILED"; outputs?: Record<string, string>; continued?: boolean; now: number }
  /** It is stopping, and no step is at work or is to clean up any more. */
  | { type: "STEPS_ENDED"; outputs?: Record<string, string>; continued?: boolean; now: number }
  /** Every step ended well, but an output of the job has no value or does not fit. */
  | { type: "OUTPUTS_FAILED"; reason: moves.OutputsFailedReason; message: string; continued?: boolean; now: number }
  /** Its workspace is lost although a step has already used it. */
  | { type: "WORKSPACE_LOST"; message: string; outputs?: Record<string, string>; continued?: boolean; now: number }
  /** Its workspace was lost before any step was claimed. */
  | { type: "REPLACE_WORKSPACE"; message: string; now: number }
  /** The workspace was ordered and does not exist, as a live read has confirmed; no step was claimed. */
  | { type: "WORKSPACE_MISSING" }
  /** An object of another owner has the name of its workspace; no step was claimed (else it is WORKSPACE_LOST). */
  | { type: "NAME_TAKEN"; message: string; now: number }
  /** The API server will not have the workspace. */
  | { type: "WORKSPACE_REFUSED"; message: string; now: number }
  /** It has taken longer than its timeout. */
  | { type: "TIME_OUT"; message: string; now: number }
  /** The attempt has failed, for that reason, and its `retry` allows another one. */
  | ({ type: "RETRY" } & moves.Repeat)
  /** It must end. */
  | { type: "CANCEL"; reason: moves.JobCancelReason; message: string; now: number };

/** The name follows from WorkflowRun UID, job, attempt and collision (`jobWorkspaceName`). */
export type JobEffect =
  /** Create the workspace of this attempt; an existing one with our owner reference is the same workspace. */
  { type: "createWorkspace"; attempt: number; collision: number };

export interface JobContext {
  /** Everything of the status but the phase, which is the state. */
  status: moves.JobFields;
}

/** What the statechart of a job is made of: its events, what they lead to, and what they depend on. */
export const charts = setup({
  types: {
    context: {} as JobContext,
    events: {} as JobEvent,
    emitted: {} as JobEffect,
    tags: {} as "terminal",
    transitionMeta: {} as TransitionMeta,
  },
  actions: {
    createWorkspace: emit(({ context }) => ({
      type: "createWorkspace" as const,
      attempt: context.status.attempt ?? 1,
      collision: context.status.collision ?? 0,
    })),
  },
  guards: {
    /** A step, or an artifact, differs from what stands there. */
    stepsChanged: ({ context }, event: { steps: StepStatus[]; artifacts?: readonly ArtifactRef[] }) =>
      moves.stepsChanged(context.status, event),
    /** The steps are others than those that stand there, and one of them is a gate that waits. */
    aGateWaits: ({ context }, event: { steps: StepStatus[]; artifacts?: readonly ArtifactRef[] }) =>
      moves.stepsChanged(context.status, event) && event.steps.some(({ phase }) => phase === "Suspended"),
    everyStepSucceeded: ({ context }) => sumOfSteps(context.status.steps ?? []) === "Succeeded",
    aStepFailed: ({ context }) => sumOfSteps(context.status.steps ?? []) === "Failed",
    aStepIsActive: ({ context }) => (context.status.steps ?? []).some(isActive),
    /** No step is at work, and it was the workflow that wanted the job to end. */
    endedAsAsked: ({ context }) =>
      !(context.status.steps ?? []).some(isActive) && moves.isCancelReason(context.status.reason),
    /** No step is at work, and it was not the workflow that wanted the job to end. */
    mayRepeat: ({ context }) =>
      !(context.status.steps ?? []).some(isActive) && !moves.isCancelReason(context.status.reason),
    noStepIsActive: ({ context }) => !(context.status.steps ?? []).some(isActive),
    /** Another step must still start, and none is at work that could be the last to need the files. */
    mustStartAnother: ({ context }) => mustStartAnother(context.status.steps ?? []),
    /** No step has ended but those that were skipped, so no file can be missed. */
    noStepEnded: ({ context }) => noStepEnded(context.status.steps ?? []),
    /** The first step is at work, so no file can be missed. */
    onlyFirstStepIsActive: ({ context }) =>
      noStepEnded(context.status.steps ?? []) && (context.status.steps ?? []).some(isActive),
    /** No step has ended, and not every name has been tried. */
    canReplaceWorkspace: ({ context }) => noStepEnded(context.status.steps ?? []) && hasNamesLeft(context.status),
    /** Not every name has been tried. */
    hasNamesLeft: ({ context }) => hasNamesLeft(context.status),
  },
});
