import type { AnyMachineSnapshot } from "xstate";
import type { PersistentWorkspaceEvent, PersistentWorkspaceSnapshot } from "#machines/persistent-workspace.ts";
import { at, type Samples, type Walk } from "./samples.ts";

const message = "text for people";
const pod = { runtime: "bash", pod: "pod-a", podUID: "uid-a", path: "/workspace/persistent/ws" };

export const persistentWorkspaceSamples: Samples<PersistentWorkspaceEvent> = {
  WAIT: [
    { type: "WAIT", reason: "NoReadyRuntimePods", message, now: at(1) },
    { type: "WAIT", reason: "RuntimeNotFound", message, now: at(2) },
  ],
  BIND: [
    { type: "BIND", ...pod, finalizer: false, now: at(10) },
    { type: "BIND", ...pod, finalizer: true, now: at(11) },
  ],
  LOSE: [{ type: "LOSE", reason: "BoundPodDeleted", message, now: at(90) }],
  RELEASE: [
    { type: "RELEASE", reason: "TTLExpired", message, now: at(80) },
    { type: "RELEASE", reason: "DeletionRequested", message, now: at(81) },
  ],
  USE: [
    { type: "USE", activeRuns: 1, now: at(20) },
    { type: "USE", activeRuns: 2, now: at(21) },
  ],
  UNUSED: [
    { type: "UNUSED", lastUsedTime: "2025-07-06T12:00:30.000000Z", now: at(31) },
    // Earlier than the one above: a late word about an old use.
    { type: "UNUSED", lastUsedTime: "2025-07-06T12:00:25.000000Z", now: at(32) },
  ],
  POD_READY: [{ type: "POD_READY", now: at(41) }],
  POD_NOT_READY: [{ type: "POD_NOT_READY", message, now: at(40) }],
  NOT_DELETED: [{ type: "NOT_DELETED" }],
  FINALIZER_LEFT: [{ type: "FINALIZER_LEFT" }],
};

export const persistentWorkspaceWalk: Walk = {
  samples: persistentWorkspaceSamples,
  essence: (snapshot: AnyMachineSnapshot) => {
    const { value, context } = snapshot as PersistentWorkspaceSnapshot;
    const { boundPodUID, reason, activeRuns, lastUsedTime, conditions } = context.status;
    const ready = conditions?.find((each) => each.type === "PodReady")?.status;
    return [value, boundPodUID, reason, activeRuns, lastUsedTime, ready];
  },
};
