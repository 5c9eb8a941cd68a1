import { assign, emit, type SnapshotFrom, setup } from "xstate";
import type { PersistentWorkspaceStatus } from "#api/kinds/persistent-workspace.ts";
import { parseTime } from "#api/time.ts";
import type { TransitionMeta } from "./lib/meta.ts";
import { checkStatus } from "./lib/persist.ts";
import * as moves from "./persistent-workspace-status.ts";

/** `now` is milliseconds since the epoch everywhere; the controller fires every event. */
export type PersistentWorkspaceEvent =
  /** Nothing to bind to. */
  | { type: "WAIT"; reason: moves.UnboundReason; message: string; now: number }
  /** A Pod is chosen. `finalizer` tells whether the cleanup finalizer is on the object already. */
  | { type: "BIND"; runtime: string; pod: string; podUID: string; path: string; finalizer: boolean; now: number }
  /** The bound Pod is gone for good, and the bytes with it. */
  | { type: "LOSE"; reason: moves.LoseReason; message: string; now: number }
  /** It is being deleted, or was unused for its TTL. */
  | { type: "RELEASE"; reason: moves.ReleaseReason; message: string; now: number }
  /** So many Runs that have not ended refer to it (1 or more). */
  | { type: "USE"; activeRuns: number; now: number }
  /** No such Run any more; `lastUsedTime` is the latest completionTime among those that ended (RFC 3339). */
  | { type: "UNUSED"; lastUsedTime: string; now: number }
  | { type: "POD_READY"; now: number }
  | { type: "POD_NOT_READY"; message: string; now: number }
  /** Released for its TTL, and yet nobody has asked the API server to delete it. */
  | { type: "NOT_DELETED" }
  /** The finalizer is still there although there are no bytes to remove: lost, or released before it was bound. */
  | { type: "FINALIZER_LEFT" };

export type PersistentWorkspaceEffect =
  /** Put the cleanup finalizer on the object. */
  | { type: "addFinalizer" }
  /** Delete the object, with its UID as precondition; the finalizer keeps it until the bytes are gone. */
  | { type: "requestDeletion" }
  /** Take the cleanup finalizer off: there are no bytes to remove. */
  | { type: "removeFinalizer" };

export interface PersistentWorkspaceContext {
  /** Everything of the status but the phase, which is the state. */
  status: moves.WorkspaceFields;
}

/** The life of a PersistentWorkspace: bound once to one Runtime Pod, never again to another. */
export const persistentWorkspaceMachine = setup({
  types: {
    context: {} as PersistentWorkspaceContext,
    events: {} as PersistentWorkspaceEvent,
    emitted: {} as PersistentWorkspaceEffect,
    tags: {} as "terminal",
    transitionMeta: {} as TransitionMeta,
  },
  actions: {
    addFinalizer: emit({ type: "addFinalizer" }),
    requestDeletion: emit({ type: "requestDeletion" }),
    removeFinalizer: emit({ type: "removeFinalizer" }),
  },
  guards: {
    /** The condition Bound does not say this yet. */
    saysSomethingNew: ({ context }, says: { reason: moves.UnboundReason; message: string }) =>
      moves.isNews(context.status, moves.unbound(says)),
    /** The cleanup finalizer is on the object, so nothing can delete it behind the agent's back. */
    hasFinalizer: (_, { finalizer }: { finalizer: boolean }) => finalizer,
    /** The number of active Runs is another one than the one that stands there. */
    usersChanged: ({ context }, { activeRuns }: { activeRuns: number }) => context.status.activeRuns !== activeRuns,
    /** It counts as used, or a Run ended later than the recorded last use. */
    wasUsed: ({ context }, { lastUsedTime }: { lastUsedTime: string }) =>
      (context.status.activeRuns ?? 0) > 0 ||
      (parseTime(lastUsedTime) ?? 0) > (parseTime(context.status.lastUsedTime) ?? 0),
    readinessChanged: ({ context }, ready: moves.Readiness) =>
      moves.isNews(context.status, moves.podReadiness(context.status, ready)),
    /** The unused TTL released it, not somebody's deletion. */
    isTTL: (_, { reason }: { reason: moves.ReleaseReason }) => reason === "TTLExpired",
    neverBound: ({ context }) => context.status.boundPodUID === undefined,
  },
}).createMachine({
  id: "persistent-workspace",
  description:
    "A workspace is a directory on one Runtime Pod. It is bound once; when that Pod goes, its files are gone.",
  context: { status: {} },
  initial: "Pending",
  states: {
    Pending: {
      description: "Not bound to a Pod yet; Runs that refer to it wait.",
      on: {
        WAIT: {
          guard: { type: "saysSomethingNew", params: ({ event }) => event },
          actions: assign(({ context, event }) => ({ status: moves.wait(context.status, event) })),
          description: "There is nothing to bind to; the reason is written for people.",
          meta: { writer: "controller", reason: ["NoReadyRuntimePods", "RuntimeNotFound"] },
        },
        BIND: [
          {
            guard: { type: "hasFinalizer", params: ({ event }) => event },
            target: "Bound",
            actions: assign(({ context, event }) => ({ status: moves.bind(context.status, event) })),
            description: "A Pod is chosen and recorded with its UID.",
            meta: { writer: "controller", reason: "Bound" },
          },
          {
            actions: "addFinalizer",
            description: "A Pod is chosen, but the finalizer comes first: the next pass binds.",
            meta: { writer: "controller" },
          },
        ],
        RELEASE: {
          target: "Released",
          actions: [
            assign(({ context, event }) => ({ status: moves.release(context.status, event) })),
            "removeFinalizer",
          ],
          description: "Deleted before it was bound: there are no bytes, so nothing is waited for.",
          meta: { writer: "controller", reason: "DeletionRequested" },
        },
      },
    },
    Bound: {
      description: "Bound to one Pod, ready or not; Runs that refer to it run there.",
      on: {
        LOSE: {
          target: "Lost",
          actions: [assign(({ context, event }) => ({ status: moves.lose(context.status, event) })), "removeFinalizer"],
          description: "The Pod is gone, or another one has its name; it is never bound again.",
          meta: {
            writer: "controller",
            reason: ["BoundPodDeleted", "BoundPodReplaced", "BoundPodDeleting", "BoundPodFailed"],
          },
        },
        RELEASE: [
          {
            guard: { type: "isTTL", params: ({ event }) => event },
            target: "Released",
            actions: [
              assign(({ context, event }) => ({ status: moves.release(context.status, event) })),
              "requestDeletion",
            ],
            description: "Unused for its TTL: no new Run may claim it, then deletion is requested.",
            meta: { writer: "controller", reason: "TTLExpired" },
          },
          {
            target: "Released",
            actions: assign(({ context, event }) => ({ status: moves.release(context.status, event) })),
            description:
              "Somebody deleted it: active Runs finish, no new one may claim it, the agent removes the bytes.",
            meta: { writer: "controller", reason: "DeletionRequested" },
          },
        ],
        USE: {
          guard: { type: "usersChanged", params: ({ event }) => event },
          actions: assign(({ context, event }) => ({ status: moves.use(context.status, event) })),
          description: "Runs that have not ended refer to it.",
          meta: { writer: "controller", reason: "ActiveRuns" },
        },
        UNUSED: {
          guard: { type: "wasUsed", params: ({ event }) => event },
          actions: assign(({ context, event }) => ({ status: moves.unused(context.status, event) })),
          description: "The last of them ended: the unused interval begins at its end.",
          meta: { writer: "controller", reason: "Unused" },
        },
        POD_READY: {
          guard: { type: "readinessChanged", params: { ready: true } },
          actions: assign(({ context, event }) => ({
            status: moves.setReadiness(context.status, { ready: true }, event.now),
          })),
          description: "The bound Pod is ready again.",
          meta: { writer: "controller", reason: "PodReady" },
        },
        POD_NOT_READY: {
          guard: { type: "readinessChanged", params: ({ event }) => ({ ready: false, message: event.message }) },
          actions: assign(({ context, event }) => ({
            status: moves.setReadiness(context.status, { ready: false, message: event.message }, event.now),
          })),
          description: "The bound Pod is not ready; its files are still there, so the binding stays.",
          meta: { writer: "controller", reason: "PodNotReady" },
        },
      },
    },
    Released: {
      description: "Being deleted: no new Run may claim it; the finalizer stays until the agent has removed the bytes.",
      on: {
        LOSE: {
          target: "Lost",
          actions: [assign(({ context, event }) => ({ status: moves.lose(context.status, event) })), "removeFinalizer"],
          description: "The Pod went before its agent had removed the bytes: nothing is left to wait for.",
          meta: {
            writer: "controller",
            reason: ["BoundPodDeleted", "BoundPodReplaced", "BoundPodDeleting", "BoundPodFailed"],
          },
        },
        USE: {
          guard: { type: "usersChanged", params: ({ event }) => event },
          actions: assign(({ context, event }) => ({ status: moves.use(context.status, event) })),
          description: "Runs that claimed it before are still at work.",
          meta: { writer: "controller", reason: "ActiveRuns" },
        },
        UNUSED: {
          guard: { type: "wasUsed", params: ({ event }) => event },
          actions: assign(({ context, event }) => ({ status: moves.unused(context.status, event) })),
          description: "The last of them ended; the agent may remove the bytes.",
          meta: { writer: "controller", reason: "Unused" },
        },
        NOT_DELETED: {
          actions: "requestDeletion",
          description: "Deletion was to be requested after the status was written, and was not: requested again.",
          meta: { writer: "controller" },
        },
        FINALIZER_LEFT: {
          guard: "neverBound",
          actions: "removeFinalizer",
          description: "It was never bound, so there are no bytes: the finalizer goes.",
          meta: { writer: "controller" },
        },
      },
    },
    Lost: {
      tags: ["terminal"],
      description: "The Pod is gone and the files with it. It is never bound again.",
      on: {
        FINALIZER_LEFT: {
          actions: "removeFinalizer",
          description: "There are no bytes to remove: the finalizer goes.",
          meta: { writer: "controller" },
        },
      },
    },
  },
});

export type PersistentWorkspaceSnapshot = SnapshotFrom<typeof persistentWorkspaceMachine>;

/**
 * The snapshot of a persisted status; without a status the workspace has just been created.
 * @throws UnknownPhaseError, MalformedStatusError
 */
export function restorePersistentWorkspace(status: PersistentWorkspaceStatus | undefined): PersistentWorkspaceSnapshot {
  const persisted = status ?? { phase: "Pending" as const };
  checkStatus(persistentWorkspaceMachine.id, persisted, Object.keys(persistentWorkspaceMachine.states), {
    boundPod: "text",
    boundPodUID: "text",
    boundTime: "time",
    lastUsedTime: "time",
    activeRuns: "count",
    conditions: "conditions",
  });
  const { phase, ...fields } = persisted;
  return persistentWorkspaceMachine.resolveState({ value: phase, context: { status: fields } });
}

/** The status to persist; the inverse of {@link restorePersistentWorkspace}. */
export function persistentWorkspaceStatus(snapshot: PersistentWorkspaceSnapshot): PersistentWorkspaceStatus {
  return { phase: snapshot.value, ...snapshot.context.status };
}
