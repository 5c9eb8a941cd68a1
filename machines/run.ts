import { assign, type SnapshotFrom, setup } from "xstate";
import type { ArtifactRef } from "#api/kinds/artifact-ref.ts";
import type { RunStatus } from "#api/kinds/run.ts";
import type { RunFailureReason, WaitingReason } from "#api/reasons.ts";
import { isRetried, type Retry } from "#api/runs.ts";
import type { TransitionMeta } from "./lib/meta.ts";
import { checkStatus } from "./lib/persist.ts";
import { clip } from "./lib/text.ts";
import * as moves from "./run-status.ts";

/** Why the Pod of a Run no longer counts as running it (see "Lost" in the operations guide). */
export type LostReason = Extract<RunFailureReason, "PodDeleted" | "PodEvicted" | "NodeLost" | "RuntimeDeleted">;

/** `now` is milliseconds since the epoch everywhere. */
export type RunEvent =
  /** Scheduler: no Pod can take it now, and somebody should be told why. */
  | { type: "WAIT"; reason: WaitingReason; message: string; now: number }
  /** Scheduler: this Pod shall run it. */
  | { type: "ASSIGN"; pod: string; podUID: string; now: number }
  /** Scheduler: the Pod did not claim it in time. */
  | { type: "TAKE_BACK"; now: number }
  /** Agent: the Pod cannot take it (full, draining). */
  | { type: "HAND_BACK"; message: string; now: number }
  /** Agent: the attempt begins. */
  | { type: "CLAIM"; now: number }
  /** Agent: exit code 0, outputs read, artifacts stored. */
  | {
      type: "SUCCEED";
      exitCode: number;
      outputs?: Record<string, string>;
      artifactRefs?: ArtifactRef[];
      now: number;
    }
  /** Agent: the attempt failed; `retry` is the Run's policy (`retryOf(spec)`). */
  | {
      type: "FAIL";
      reason: RunFailureReason;
      message: string;
      exitCode?: number;
      /** What the program wrote before it failed; only of the last attempt they are kept. */
      outputs?: Record<string, string>;
      retry: Retry;
      now: number;
    }
  /** Scheduler while Pending, agent afterwards: termination was asked for and nothing of it runs any more. */
  | { type: "CANCEL"; message: string; outputs?: Record<string, string>; now: number }
  /** Controller: the Pod is gone for good, or its agent has been silent for too long. */
  | { type: "POD_LOST"; reason: LostReason; message: string; retry: Retry; now: number }
  /** Scheduler: what it requests can never be given. */
  | { type: "INVALID"; reason: Extract<RunFailureReason, "InvalidResources">; message: string; now: number }
  /** Controller: its Runtime was deleted after the Run had been placed at least once. */
  | { type: "RUNTIME_DELETED"; message: string; now: number };

export interface RunContext {
  /** Everything of the status but the phase, which is the state. */
  status: moves.RunFields;
}

/** The life of a Run: placed by the scheduler, executed by the agent of its Pod, recovered by the controller. */
export const runMachine = setup({
  types: {
    context: {} as RunContext,
    events: {} as RunEvent,
    tags: {} as "terminal",
    transitionMeta: {} as TransitionMeta,
  },
  guards: {
    /** The waiting reason or its text is not the one that stands there. */
    saysSomethingNew: ({ context }, says: { reason: string; message: string }) =>
      context.status.reason !== says.reason || context.status.message !== clip(says.message),
    /** No back-off, or it is over. */
    isDue: ({ context }, { now }: { now: number }) => moves.isDue(context.status, now),
    /** The policy has an attempt left and the reason is one that may be retried. */
    retryAllowed: ({ context }, failure: { reason: RunFailureReason; retry: Retry }) =>
      isRetried(failure.retry, context.status.attempt ?? 0, failure.reason),
    /** The attempt ran into spec.timeout. */
    ranOutOfTime: (_, { reason }: { reason: RunFailureReason }) => reason === "Timeout",
    /** It was assigned to a Pod at least once. */
    wasPlaced: ({ context }) => (context.status.assignmentEpoch ?? 0) > 0,
  },
}).createMachine({
  id: "run",
  description: "A Run is placed on a Runtime Pod, executed there, and repeated as its retry policy allows.",
  context: { status: {} },
  initial: "Pending",
  states: {
    Pending: {
      description: "Waits for a Pod, for the first time or again.",
      on: {
        WAIT: {
          guard: { type: "saysSomethingNew", params: ({ event }) => event },
          actions: assign(({ context, event }) => ({ status: moves.wait(context.status, event) })),
          description: "No Pod can take it; the reason is written for people.",
          meta: {
            writer: "scheduler",
            reason: [
              "RuntimeNotFound",
              "NoReadyPods",
              "InsufficientCapacity",
              "WorkspaceNotFound",
              "WorkspaceNotBound",
              "WorkspaceLost",
              "WorkspaceReleased",
              "WorkspaceRuntimeMismatch",
              "WorkspacePodMismatch",
              "WorkspacePodNotReady",
              "AffinityNotSatisfied",
              "BackingOff",
            ],
          },
        },
        ASSIGN: {
          guard: { type: "isDue", params: ({ event }) => event },
          target: "Scheduled",
          actions: assign(({ context, event }) => ({ status: moves.assignTo(context.status, event) })),
          description: "A Pod is chosen; the assignment epoch rises and every word about waiting goes.",
          meta: { writer: "scheduler" },
        },
        CANCEL: {
          target: "Cancelled",
          actions: assign(({ context, event }) => ({ status: moves.cancel(context.status, event) })),
          description: "Termination was asked for before it was placed.",
          meta: { writer: "scheduler", reason: "Cancelled" },
        },
        INVALID: {
          target: "Failed",
          actions: assign(({ context, event }) => ({ status: moves.fail(context.status, event) })),
          description: "What it requests can never be given.",
          meta: { writer: "scheduler", reason: "InvalidResources" },
        },
        RUNTIME_DELETED: {
          guard: "wasPlaced",
          target: "Failed",
          actions: assign(({ context, event }) => ({
            status: moves.fail(context.status, { ...event, reason: "RuntimeDeleted" }),
          })),
          description: "Its Runtime existed and was deleted; a Run that was never placed waits for it instead.",
          meta: { writer: "controller", reason: "RuntimeDeleted" },
        },
      },
    },
    Scheduled: {
      description: "Assigned to a Pod that has not claimed it yet; nothing of it runs.",
      on: {
        CLAIM: {
          target: "Running",
          actions: assign(({ context, event }) => ({ status: moves.claim(context.status, event) })),
          description: "The agent takes it: the attempt number rises, and only then may anything start.",
          meta: { writer: "agent" },
        },
        TAKE_BACK: {
          target: "Pending",
          actions: assign(({ context }) => ({
            status: moves.unassign(context.status, "TakenBack", "the Pod did not claim it in time"),
          })),
          description: "Not claimed in time: placed again without spending an attempt.",
          meta: { writer: "scheduler", reason: "TakenBack" },
        },
        HAND_BACK: {
          target: "Pending",
          actions: assign(({ context, event }) => ({
            status: moves.unassign(context.status, "HandedBack", event.message),
          })),
          description: "The Pod has no room or takes no new work: placed again without spending an attempt.",
          meta: { writer: "agent", reason: "HandedBack" },
        },
        POD_LOST: {
          target: "Pending",
          actions: assign(({ context, event }) => ({
            status: moves.unassign(context.status, event.reason, event.message),
          })),
          description: "The Pod went before the claim: placed again without spending an attempt.",
          meta: { writer: "controller", reason: ["PodDeleted", "PodEvicted", "NodeLost", "RuntimeDeleted"] },
        },
        CANCEL: {
          target: "Cancelled",
          actions: assign(({ context, event }) => ({ status: moves.cancel(context.status, event) })),
          description: "Termination was asked for before the claim.",
          meta: { writer: "agent", reason: "Cancelled" },
        },
      },
    },
    Running: {
      description: "Claimed by the agent of its Pod: files are prepared, the program runs, results are stored.",
      on: {
        SUCCEED: {
          target: "Succeeded",
          actions: assign(({ context, event }) => ({ status: moves.succeed(context.status, event) })),
          description: "Exit code 0, outputs read, artifacts stored.",
          meta: { writer: "agent", reason: "Completed" },
        },
        FAIL: [
          {
            guard: { type: "retryAllowed", params: ({ event }) => event },
            target: "Pending",
            actions: assign(({ context, event }) => ({ status: moves.retry(context.status, event) })),
            description: "The attempt failed and another one is allowed: the assignment goes, the back-off begins.",
            meta: {
              writer: "agent",
              reason: [
                "Timeout",
                "SourceFailed",
                "StartFailed",
                "ExitNonZero",
                "AttemptLost",
                "ArtifactStoreUnavailable",
              ],
            },
          },
          {
            guard: { type: "ranOutOfTime", params: ({ event }) => event },
            target: "Timeout",
            actions: assign(({ context, event }) => ({ status: moves.fail(context.status, event) })),
            description: "The last attempt ran longer than spec.timeout; its processes are gone.",
            meta: { writer: "agent", reason: "Timeout" },
          },
          {
            target: "Failed",
            actions: assign(({ context, event }) => ({ status: moves.fail(context.status, event) })),
            description: "The last attempt failed, or failed in a way that would only repeat itself.",
            meta: {
              writer: "agent",
              reason: [
                "SourceFailed",
                "ArtifactInputFailed",
                "StartFailed",
                "ExitNonZero",
                "AttemptLost",
                "OutputsInvalid",
                "OutputsTooLarge",
                "ArtifactInvalid",
                "ArtifactStoreUnavailable",
                "SecretNotAvailable",
                "WorkspaceLost",
              ],
            },
          },
        ],
        POD_LOST: [
          {
            guard: { type: "retryAllowed", params: ({ event }) => event },
            target: "Pending",
            actions: assign(({ context, event }) => ({ status: moves.retry(context.status, event) })),
            description: "The Pod or its agent is gone and another attempt is allowed.",
            meta: { writer: "controller", reason: ["PodDeleted", "PodEvicted", "NodeLost"] },
          },
          {
            target: "Failed",
            actions: assign(({ context, event }) => ({ status: moves.fail(context.status, event) })),
            description: "The Pod or its agent is gone and no attempt is left.",
            meta: { writer: "controller", reason: ["PodDeleted", "PodEvicted", "NodeLost", "RuntimeDeleted"] },
          },
        ],
        CANCEL: {
          target: "Cancelled",
          actions: assign(({ context, event }) => ({ status: moves.cancel(context.status, event) })),
          description: "Termination was asked for and the processes of the attempt are gone.",
          meta: { writer: "agent", reason: "Cancelled" },
        },
      },
    },
    Succeeded: { tags: ["terminal"], description: "The program ended with exit code 0 and its results are stored." },
    Failed: { tags: ["terminal"], description: "The last attempt failed, or it could never run." },
    Timeout: { tags: ["terminal"], description: "The last attempt ran longer than spec.timeout." },
    Cancelled: { tags: ["terminal"], description: "It was ended because somebody asked for it." },
  },
});

export type RunSnapshot = SnapshotFrom<typeof runMachine>;

/**
 * The snapshot of a persisted status; without a status the Run has just been created.
 * @throws UnknownPhaseError, MalformedStatusError
 */
export function restoreRun(status: RunStatus | undefined): RunSnapshot {
  const persisted = status ?? { phase: "Pending" as const };
  checkStatus(runMachine.id, persisted, Object.keys(runMachine.states), {
    assignmentEpoch: "count",
    attempt: "count",
    attempts: "list",
    startTime: "time",
    nextAttemptTime: "time",
    conditions: "conditions",
  });
  const { phase, ...fields } = persisted;
  return runMachine.resolveState({ value: phase, context: { status: fields } });
}

/** The status to persist; the inverse of {@link restoreRun}. */
export function runStatus(snapshot: RunSnapshot): RunStatus {
  return { phase: snapshot.value, ...snapshot.context.status };
}
