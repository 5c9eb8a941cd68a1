import { assign, emit, type SnapshotFrom, setup } from "xstate";
import type { ArtifactRef } from "#api/kinds/artifact-ref.ts";
import type { RunStatus } from "#api/kinds/run.ts";
import type { RunFailureReason } from "#api/reasons.ts";
import { parseTime } from "#api/time.ts";
import {
  type AttemptOutcome,
  executorRestarted,
  exitOutcome,
  failure,
  noOutcome,
  success,
  wasCutShort,
  withOutputs,
  withoutOutputs,
} from "./attempt-outcome.ts";
import type { TransitionMeta } from "./lib/meta.ts";

/** Every event is the agent's: the answer to an effect, the executor's word, or what it sees of the Run. */
export type AttemptEvent =
  /** The Pod has room and no removal of its workspace is under way. */
  | { type: "ADMIT" }
  /** The Pod has no room, or takes no new work: the Run is placed again. */
  | { type: "REFUSE"; message: string }
  /**
   * The agent has restarted and found the Run Running here; `execution` is what the executor says of it. If the
   * executor's record says that the program was killed, CANCEL or TIMEOUT come before its EXIT: that was why.
   */
  | { type: "RESUME"; execution: "Known" | "NeverStarted" | "Lost" }
  /** The claim is stored. */
  | { type: "CLAIMED" }
  /** Directory and source are in place. */
  | { type: "PREPARED" }
  /** Artifact inputs are in place. */
  | { type: "STAGED" }
  /** The executor has started the program. */
  | { type: "STARTED" }
  /** The program has ended and nothing of its process group is left; `message` says more (a signal, OOMKilled). */
  | { type: "EXIT"; exitCode: number; message?: string }
  /** The outputs are read; `artifacts` is how many files wait to be stored. */
  | { type: "COLLECTED"; outputs: Record<string, string>; artifacts: number }
  | { type: "UPLOADED"; artifactRefs: ArtifactRef[] }
  /** The effect under way failed, or the executor does not know the attempt any more (AttemptLost). */
  | { type: "FAILED"; reason: RunFailureReason; message: string }
  /** startTime + spec.timeout has passed. */
  | { type: "TIMEOUT"; message: string }
  /** Termination of the Run was asked for. */
  | { type: "CANCEL"; message: string }
  /** The Run is deleted, ended, or assigned elsewhere (Pod UID or epoch differ): nothing may be written any more. */
  | { type: "FENCED" }
  /** Nothing of the attempt is at work any more. */
  | { type: "GONE" }
  /** The outcome is stored. */
  | { type: "REPORTED" };

/** What the agent has to do; each is idempotent for (Run UID, attempt) and answered by the event named. */
export type AttemptEffect =
  /** Write `Running` on the resourceVersion seen: CLAIMED, or FENCED when the race is lost. */
  | { type: "claim" }
  /** Make the directories, fetch the source: PREPARED or FAILED. */
  | { type: "prepare" }
  /** Put the artifact inputs in place: STAGED or FAILED. */
  | { type: "stage" }
  /** Execute on the executor, by (Run UID, attempt): STARTED or FAILED; EXIT follows from its stream. */
  | { type: "start" }
  /** Read the outputs file, list the artifacts: COLLECTED or FAILED. Also of an attempt that failed, for its outputs. */
  | { type: "collect" }
  /** Store the artifacts; bounded by the attempt's deadline: UPLOADED or FAILED. */
  | { type: "upload" }
  /** Abort the effect under way and kill every process of the attempt: GONE once nothing is left. */
  | { type: "kill" }
  /** Write the outcome as the Run's status: REPORTED, or FENCED when the Run is not ours any more. */
  | { type: "report"; outcome: AttemptOutcome }
  /** Remove the Run's own files from the Pod. */
  | { type: "cleanup" }
  /** Let the executor forget its result. */
  | { type: "forget" };

export interface AttemptContext {
  /** Read after a good exit, reported with the artifacts. */
  outputs?: Record<string, string> | undefined;
  /** What the Run will be told; absent as long as that is open, or when it must not be told anything any more. */
  outcome?: AttemptOutcome | undefined;
}

const base = setup({
  types: {
    context: {} as AttemptContext,
    events: {} as AttemptEvent,
    emitted: {} as AttemptEffect,
    tags: {} as "terminal",
    transitionMeta: {} as TransitionMeta,
  },
  actions: {
    claim: emit({ type: "claim" }),
    prepare: emit({ type: "prepare" }),
    stage: emit({ type: "stage" }),
    start: emit({ type: "start" }),
    collect: emit({ type: "collect" }),
    upload: emit({ type: "upload" }),
    kill: emit({ type: "kill" }),
    report: emit(({ context }) => ({ type: "report" as const, outcome: context.outcome ?? noOutcome })),
    cleanup: emit({ type: "cleanup" }),
    forget: emit({ type: "forget" }),
  },
  guards: {
    isKnown: (_, { execution }: { execution: string }) => execution === "Known",
    neverStarted: (_, { execution }: { execution: string }) => execution === "NeverStarted",
    exitedWell: (_, { exitCode }: { exitCode: number }) => exitCode === 0,
    leftArtifacts: (_, { artifacts }: { artifacts: number }) => artifacts > 0,
    /** The Run must be told that its program was ended in the middle of its work. */
    wasCutShort: ({ context }) => wasCutShort(context.outcome),
    /** There is an outcome that the Run must be told. */
    hasOutcome: ({ context }) => context.outcome !== undefined,
  },
});

/** Termination was asked for: the same from the claim to the last upload. */
const cancellable = base.createStateConfig({
  on: {
    CANCEL: {
      target: "Killing",
      actions: [assign(({ event }) => ({ outcome: { kind: "Cancelled", message: event.message } })), "kill"],
      description: "Termination was asked for: whatever is at work is ended first.",
      meta: { writer: "agent", reason: "Cancelled" },
    },
    FENCED: {
      target: "Killing",
      actions: [assign({ outcome: undefined }), "kill"],
      description: "The Run is not ours any more: whatever is at work is ended, and nothing is reported.",
      meta: { writer: "agent" },
    },
  },
});

/** The time limit counts from the claim until the program has ended; what follows is bounded by its own effects. */
const limited = base.createStateConfig({
  on: {
    TIMEOUT: {
      target: "Killing",
      actions: [
        assign(({ event }) => ({ outcome: { kind: "Failed", reason: "Timeout", message: event.message } })),
        "kill",
      ],
      description: "The attempt ran longer than spec.timeout: whatever is at work is ended first.",
      meta: { writer: "agent", reason: "Timeout" },
    },
  },
});

/** What the executor has, or may have, is ended before anything is reported. */
const startable = base.createStateConfig({
  on: {
    FAILED: {
      target: "Killing",
      actions: [assign(({ event }) => ({ outcome: failure(event) })), "kill"],
      description: "It did not start, or the executor does not know it any more: what may be left is ended first.",
      meta: { writer: "agent", reason: ["StartFailed", "AttemptLost"] },
    },
  },
});

/**
 * One attempt of a Run on its Pod. The agent executes effects and feeds their answers back; it decides nothing. The
 * chart has no status of its own: after a restart, {@link newAttempt} and RESUME find the place again.
 */
export const attemptMachine = base.createMachine({
  id: "attempt",
  description: "One attempt of a Run, inside the agent of its Pod. Nothing is reported before its processes are gone.",
  context: {},
  initial: "Assigned",
  states: {
    Assigned: {
      description: "The Run is assigned to this Pod; nothing was done about it by this agent process yet.",
      on: {
        ADMIT: {
          target: "Claiming",
          actions: "claim",
          description: "The Pod has room for it.",
          meta: { writer: "agent" },
        },
        REFUSE: {
          target: "Reporting",
          actions: [assign(({ event }) => ({ outcome: { kind: "HandedBack", message: event.message } })), "report"],
          description: "The Pod has no room or takes no new work: the Run is handed back.",
          meta: { writer: "agent", reason: "HandedBack" },
        },
        CANCEL: {
          target: "Reporting",
          actions: [assign(({ event }) => ({ outcome: { kind: "Cancelled", message: event.message } })), "report"],
          description: "Termination was asked for before the claim.",
          meta: { writer: "agent", reason: "Cancelled" },
        },
        RESUME: [
          {
            guard: { type: "isKnown", params: ({ event }) => event },
            target: "Executing",
            description: "After a restart: the executor knows the attempt, at work or with its exit code.",
            meta: { writer: "agent" },
          },
          {
            guard: { type: "neverStarted", params: ({ event }) => event },
            target: "Preparing",
            actions: "prepare",
            description: "After a restart: claimed, and never given to the executor, which is older than the claim.",
            meta: { writer: "agent" },
          },
          {
            target: "Killing",
            actions: [assign({ outcome: executorRestarted }), "kill"],
            description: "After a restart: the executor has restarted too, so nobody knows what became of the program.",
            meta: { writer: "agent", reason: "AttemptLost" },
          },
        ],
        FENCED: {
          target: "Done",
          description: "The Run is not ours any more; nothing was done about it.",
          meta: { writer: "agent" },
        },
      },
    },
    Claiming: {
      description: "The claim is being written. Whatever else is asked of the Run waits for the answer.",
      on: {
        CLAIMED: {
          target: "Preparing",
          actions: "prepare",
          description: "The claim is stored: from here on the attempt exists.",
          meta: { writer: "agent" },
        },
        FENCED: {
          target: "Done",
          description: "The race is lost: the Run was taken back, changed hands or is gone.",
          meta: { writer: "agent" },
        },
      },
    },
    Preparing: {
      description: "Directories are made, the source is fetched.",
      on: {
        PREPARED: {
          target: "Staging",
          actions: "stage",
          description: "Directory and source are in place.",
          meta: { writer: "agent" },
        },
        FAILED: {
          target: "Reporting",
          actions: [assign(({ event }) => ({ outcome: failure(event) })), "report"],
          description: "No source, no workspace or no Secret.",
          meta: { writer: "agent", reason: ["SourceFailed", "SecretNotAvailable", "WorkspaceLost", "StartFailed"] },
        },
        ...limited.on,
        ...cancellable.on,
      },
    },
    Staging: {
      description: "Artifact inputs are put in place.",
      on: {
        STAGED: {
          target: "Starting",
          actions: "start",
          description: "Artifact inputs are in place.",
          meta: { writer: "agent" },
        },
        FAILED: {
          target: "Reporting",
          actions: [assign(({ event }) => ({ outcome: failure(event) })), "report"],
          description: "An artifact input is missing, wrong or unsafe, or the store is down.",
          meta: { writer: "agent", reason: ["ArtifactInputFailed", "ArtifactStoreUnavailable"] },
        },
        ...limited.on,
        ...cancellable.on,
      },
    },
    Starting: {
      description: "The executor is asked to start the program.",
      on: {
        STARTED: {
          target: "Executing",
          description: "The program runs.",
          meta: { writer: "agent" },
        },
        ...startable.on,
        ...limited.on,
        ...cancellable.on,
      },
    },
    Executing: {
      description: "The program runs.",
      on: {
        EXIT: [
          {
            guard: { type: "exitedWell", params: ({ event }) => event },
            target: "Collecting",
            actions: "collect",
            description: "Exit code 0: its results are read.",
            meta: { writer: "agent" },
          },
          {
            target: "Salvaging",
            actions: [assign(({ event }) => ({ outcome: exitOutcome(event) })), "collect"],
            description: "Another exit code: the attempt failed. What it wrote before is read.",
            meta: { writer: "agent", reason: "ExitNonZero" },
          },
        ],
        ...startable.on,
        ...limited.on,
        ...cancellable.on,
      },
    },
    Collecting: {
      description: "The program has ended well; its outputs are read and its artifacts listed.",
      on: {
        COLLECTED: [
          {
            guard: { type: "leftArtifacts", params: ({ event }) => event },
            target: "Uploading",
            actions: [assign(({ event }) => ({ outputs: event.outputs })), "upload"],
            description: "There are artifacts to store.",
            meta: { writer: "agent" },
          },
          {
            target: "Reporting",
            actions: [assign(({ event }) => ({ outcome: success(event.outputs, []) })), "report"],
            description: "There are none.",
            meta: { writer: "agent" },
          },
        ],
        FAILED: {
          target: "Reporting",
          actions: [assign(({ event }) => ({ outcome: { ...failure(event), exitCode: 0 } })), "report"],
          description: "Outputs or artifacts break a rule or a limit.",
          meta: { writer: "agent", reason: ["OutputsInvalid", "OutputsTooLarge", "ArtifactInvalid"] },
        },
        ...cancellable.on,
      },
    },
    Uploading: {
      description: "Artifacts are stored.",
      on: {
        UPLOADED: {
          target: "Reporting",
          actions: [
            assign(({ context, event }) => ({ outcome: success(context.outputs ?? {}, event.artifactRefs) })),
            "report",
          ],
          description: "All artifacts are stored.",
          meta: { writer: "agent" },
        },
        FAILED: {
          target: "Reporting",
          actions: [
            assign(({ context, event }) => ({
              outcome: withOutputs({ ...failure(event), exitCode: 0 }, context.outputs ?? {}),
            })),
            "report",
          ],
          description: "An artifact breaks a rule or a limit, or the store did not answer in time.",
          meta: { writer: "agent", reason: ["ArtifactInvalid", "ArtifactStoreUnavailable"] },
        },
        ...cancellable.on,
      },
    },
    Killing: {
      description: "The effect under way is aborted and every process of the attempt is ended.",
      on: {
        GONE: [
          {
            guard: "wasCutShort",
            target: "Salvaging",
            actions: "collect",
            description:
              "Nothing is left of a program that was cancelled or out of time: what it wrote before is read.",
            meta: { writer: "agent" },
          },
          {
            guard: "hasOutcome",
            target: "Reporting",
            actions: "report",
            description: "Nothing is left: the Run may be told.",
            meta: { writer: "agent" },
          },
          {
            target: "Done",
            actions: ["cleanup", "forget"],
            description: "Nothing is left of an attempt that is not ours to report.",
            meta: { writer: "agent" },
          },
        ],
        FENCED: {
          guard: "hasOutcome",
          actions: assign({ outcome: undefined }),
          description: "The Run is not ours any more: nothing will be reported.",
          meta: { writer: "agent" },
        },
      },
    },
    Salvaging: {
      description:
        "The attempt ends without success, and nothing of it is at work any more; its outputs are read. Artifacts are those of a success.",
      on: {
        COLLECTED: {
          target: "Reporting",
          actions: [
            assign(({ context, event }) => ({ outcome: withOutputs(context.outcome, event.outputs) })),
            "report",
          ],
          description: "The outputs that it wrote are known.",
          meta: { writer: "agent" },
        },
        FAILED: {
          target: "Reporting",
          actions: [
            assign(({ context, event }) => ({ outcome: withoutOutputs(context.outcome, event.message) })),
            "report",
          ],
          description: "Its outputs break a rule or a limit: the message says so, the reason stays.",
          meta: { writer: "agent" },
        },
        FENCED: {
          target: "Done",
          actions: ["cleanup", "forget"],
          description: "Somebody else has written what became of the Run, or it is gone.",
          meta: { writer: "agent" },
        },
      },
    },
    Reporting: {
      description: "The outcome is being written. Nothing of the attempt is at work any more.",
      on: {
        REPORTED: {
          target: "Done",
          actions: ["cleanup", "forget"],
          description: "The outcome is stored: files and the executor's memory of it may go.",
          meta: { writer: "agent" },
        },
        FENCED: {
          target: "Done",
          actions: ["cleanup", "forget"],
          description: "Somebody else has written what became of the Run, or it is gone.",
          meta: { writer: "agent" },
        },
      },
    },
    Done: { tags: ["terminal"], description: "Nothing is left to do for this attempt." },
  },
});

export type AttemptSnapshot = SnapshotFrom<typeof attemptMachine>;

/** An attempt of which this agent process knows nothing yet. */
export function newAttempt(): AttemptSnapshot {
  return attemptMachine.resolveState({ value: "Assigned", context: {} });
}

/**
 * The first event after a restart of the agent, for a Run that it owns; none when the Run is only Scheduled.
 * @param listed whether the executor's List has (Run UID, attempt), at work or ended.
 * @param executorBootTime milliseconds since the epoch; agent and executor share the clock of their Pod.
 */
export function resumption(run: RunStatus, listed: boolean, executorBootTime: number): AttemptEvent | undefined {
  if (run.phase !== "Running") return undefined;
  if (listed) return { type: "RESUME", execution: "Known" };
  const claimed = parseTime(run.startTime);
  const wasThere = claimed !== undefined && executorBootTime <= claimed;
  return { type: "RESUME", execution: wasThere ? "NeverStarted" : "Lost" };
}
