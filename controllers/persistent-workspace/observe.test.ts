import { expect, test } from "vitest";
import type { PersistentWorkspaceSpec, PersistentWorkspaceStatus } from "#api/kinds/persistent-workspace.ts";
import { workspaceFinalizer } from "#api/labels.ts";
import type { ObjectMeta } from "#api/meta.ts";
import { timestamp } from "#api/time.ts";
import type { Pod } from "#kube/builtin.ts";
import { settle } from "#machines/lib/settle.ts";
import {
  persistentWorkspaceMachine,
  persistentWorkspaceStatus,
  restorePersistentWorkspace,
} from "#machines/persistent-workspace.ts";
import { nextDeadline, observe, type Seen } from "./observe.ts";

const now = Date.parse("2026-01-01T00:00:00Z");
const ago = (ms: number) => timestamp(now - ms);

function pod(
  name: string,
  change: Partial<ObjectMeta> = {},
  ready = true,
  phase: "Running" | "Failed" = "Running",
): Pod {
  return {
    metadata: { name, uid: `${name}-uid`, ...change },
    spec: { containers: [] },
    status: { phase, conditions: [{ type: "Ready", status: ready ? "True" : "False" }] },
  };
}

interface Given extends Partial<Omit<Seen, "workspace" | "podNamed">> {
  /** The Pod named `a`. */
  boundPod?: Pod | undefined;
  spec?: Partial<PersistentWorkspaceSpec>;
  meta?: Partial<ObjectMeta>;
}

function seen({ spec = {}, meta = {}, ...given }: Given = {}): Seen {
  const { boundPod, ...rest } = { boundPod: pod("a"), ...given };
  return {
    workspace: { metadata: { name: "w", uid: "w-uid", ...meta }, spec: { runtime: "bash", ...spec } },
    runtimeExists: true,
    candidates: [],
    podNamed: (name) => [boundPod, pod("b")].find((one) => one?.metadata.name === name),
    activeRuns: 0,
    lastCompletion: undefined,
    usageDue: Number.NEGATIVE_INFINITY,
    ...rest,
  };
}

const pending: PersistentWorkspaceStatus = { phase: "Pending" };
const bound: PersistentWorkspaceStatus = {
  phase: "Bound",
  boundPod: "a",
  boundPodUID: "a-uid",
  boundTime: ago(100_000),
  conditions: [{ type: "PodReady", status: "True", reason: "PodReady", message: "", lastTransitionTime: ago(0) }],
};
const unready = {
  ...bound,
  conditions: [
    { type: "PodReady", status: "False" as const, reason: "PodNotReady", message: "", lastTransitionTime: ago(0) },
  ],
};
const finalizers = [workspaceFinalizer];
const deletionTimestamp = ago(0);

const cases: Record<string, { given: Given; status: PersistentWorkspaceStatus; want: string | undefined }> = {
  "it waits while the Runtime has no ready Pod": { given: {}, status: pending, want: "WAIT NoReadyRuntimePods" },
  "it says when there is no Runtime": {
    given: { runtimeExists: false },
    status: pending,
    want: "WAIT RuntimeNotFound",
  },
  "the reason for waiting is said once": {
    given: {},
    status: { ...pending, reason: "NoReadyRuntimePods" },
    want: undefined,
  },
  "a ready Pod is bound": { given: { candidates: [pod("b")] }, status: pending, want: "BIND b false" },
  "the finalizer, once there, is passed on": {
    given: { candidates: [pod("b")], meta: { finalizers } },
    status: pending,
    want: "BIND b true",
  },
  "deleted before it was bound, it is released": {
    given: { candidates: [pod("b")], meta: { deletionTimestamp, finalizers } },
    status: pending,
    want: "RELEASE DeletionRequested",
  },
  "a bound workspace with a ready Pod is left alone": { given: {}, status: bound, want: undefined },
  "a Pod that is only not ready keeps the binding": {
    given: { boundPod: pod("a", {}, false) },
    status: bound,
    want: "POD_NOT_READY",
  },
  "that is said once": { given: { boundPod: pod("a", {}, false) }, status: unready, want: undefined },
  "a Pod that is ready again is said": { given: {}, status: unready, want: "POD_READY" },
  "a Pod that is gone loses it": { given: { boundPod: undefined }, status: bound, want: "LOSE BoundPodDeleted" },
  "a namesake with another uid loses it": {
    given: { boundPod: pod("a", { uid: "other" }) },
    status: bound,
    want: "LOSE BoundPodReplaced",
  },
  "a Pod being deleted loses it": {
    given: { boundPod: pod("a", { deletionTimestamp }) },
    status: bound,
    want: "LOSE BoundPodDeleting",
  },
  "a Pod that has ended loses it": {
    given: { boundPod: pod("a", {}, false, "Failed") },
    status: bound,
    want: "LOSE BoundPodFailed",
  },
  "explicit deletion releases it at once, also while Runs are active": {
    given: { activeRuns: 2, meta: { deletionTimestamp, finalizers } },
    status: bound,
    want: "RELEASE DeletionRequested",
  },
  "explicit deletion releases a retained one too": {
    given: { spec: { cleanupPolicy: "Retain" }, meta: { deletionTimestamp, finalizers } },
    status: bound,
    want: "RELEASE DeletionRequested",
  },
  "a new Run is counted": { given: { activeRuns: 1 }, status: bound, want: "USE 1" },
  "the count follows at most at its interval": {
    given: { activeRuns: 1, usageDue: now + 1 },
    status: bound,
    want: undefined,
  },
  "the count is not written again": { given: { activeRuns: 1 }, status: { ...bound, activeRuns: 1 }, want: undefined },
  "the end of the last Run is written after a second unused": {
    given: { lastCompletion: now - 1000 },
    status: { ...bound, activeRuns: 1 },
    want: `UNUSED ${ago(1000)}`,
  },
  "within that second nothing is written": {
    given: { lastCompletion: now - 999 },
    status: { ...bound, activeRuns: 1 },
    want: undefined,
  },
  "a Run that came and went between two writes counts as use": {
    given: { lastCompletion: now - 2000 },
    status: { ...bound, activeRuns: 0, lastUsedTime: ago(50_000) },
    want: `UNUSED ${ago(2000)}`,
  },
  "the last use is set once": {
    given: { lastCompletion: now - 2000 },
    status: { ...bound, activeRuns: 0, lastUsedTime: ago(2000) },
    want: undefined,
  },
  "unused for its TTL since it was bound, it is released": {
    given: { spec: { ttlSecondsAfterUnused: 100 } },
    status: bound,
    want: "RELEASE TTLExpired",
  },
  "the TTL counts from the last use": {
    given: { spec: { ttlSecondsAfterUnused: 100 }, lastCompletion: now - 99_000 },
    status: { ...bound, activeRuns: 0, lastUsedTime: ago(99_000) },
    want: undefined,
  },
  "the TTL counts from a last use that is not written yet": {
    given: { spec: { ttlSecondsAfterUnused: 100 }, lastCompletion: now - 500 },
    status: { ...bound, activeRuns: 1 },
    want: undefined,
  },
  "an active Run holds the TTL up": {
    given: { spec: { ttlSecondsAfterUnused: 1 }, activeRuns: 1 },
    status: { ...bound, activeRuns: 1 },
    want: undefined,
  },
  "without a TTL there is no automatic deletion": {
    given: {},
    status: { ...bound, boundTime: ago(1e10) },
    want: undefined,
  },
  "a TTL of zero deletes at once when unused": {
    given: { spec: { ttlSecondsAfterUnused: 0 } },
    status: bound,
    want: "RELEASE TTLExpired",
  },
  "Retain switches the TTL off": {
    given: { spec: { ttlSecondsAfterUnused: 1, cleanupPolicy: "Retain" } },
    status: bound,
    want: undefined,
  },
  "released for its TTL and not deleted, the deletion is asked for again": {
    given: { meta: { finalizers } },
    status: { ...bound, phase: "Released", reason: "TTLExpired" },
    want: "NOT_DELETED",
  },
  "released and deleted, it waits for the agent": {
    given: { meta: { finalizers, deletionTimestamp } },
    status: { ...bound, phase: "Released" },
    want: undefined,
  },
  "released while its Pod is not ready, it waits": {
    given: { meta: { finalizers, deletionTimestamp }, boundPod: pod("a", {}, false) },
    status: { ...bound, phase: "Released" },
    want: undefined,
  },
  "when its Pod goes before the bytes are removed, it is lost": {
    given: { meta: { finalizers, deletionTimestamp }, boundPod: undefined },
    status: { ...bound, phase: "Released" },
    want: "LOSE BoundPodDeleted",
  },
  "released without ever being bound, its finalizer goes": {
    given: { meta: { finalizers, deletionTimestamp } },
    status: { phase: "Released" },
    want: "FINALIZER_LEFT",
  },
  "a lost workspace never binds again": {
    given: { candidates: [pod("a"), pod("b")] },
    status: { ...bound, phase: "Lost" },
    want: undefined,
  },
  "a lost workspace gives up its finalizer": {
    given: { meta: { finalizers } },
    status: { ...bound, phase: "Lost" },
    want: "FINALIZER_LEFT",
  },
};

test.each(Object.entries(cases))("%s", (_, { given, status, want }) => {
  const stored = seen(given);
  const event = observe({ ...stored, workspace: { ...stored.workspace, status } }, status, now);
  const detail =
    event === undefined
      ? []
      : event.type === "BIND"
        ? [event.pod, String(event.finalizer)]
        : event.type === "USE"
          ? [String(event.activeRuns)]
          : event.type === "UNUSED"
            ? [event.lastUsedTime]
            : "reason" in event
              ? [event.reason]
              : [];
  expect(event === undefined ? undefined : [event.type, ...detail].join(" ")).toBe(want);
});

test("binding settles in one pass", () => {
  const given = seen({ candidates: [pod("b")], meta: { finalizers } });
  const settled = settle({
    machine: persistentWorkspaceMachine,
    snapshot: restorePersistentWorkspace(pending),
    observe: (snapshot) => observe(given, persistentWorkspaceStatus(snapshot), now),
  });
  expect(persistentWorkspaceStatus(settled.snapshot)).toMatchObject({ phase: "Bound", boundPod: "b" });
});

test("the pick is stable for the same candidates in any order, and spreads over workspaces", () => {
  const candidates = ["a", "b", "c"].map((name) => pod(name));
  const pick = (uid: string, pods: Pod[]) => {
    const event = observe(seen({ candidates: pods, meta: { uid } }), pending, now);
    return event?.type === "BIND" ? event.pod : undefined;
  };
  const picks = Array.from({ length: 50 }, (_, n) => {
    const first = pick(`uid-${n}`, candidates);
    expect(pick(`uid-${n}`, [...candidates].reverse())).toBe(first);
    return first;
  });
  expect(new Set(picks).size).toBe(3);
});

test("the path is the literal of the specification", () => {
  const event = observe(seen({ candidates: [pod("b")] }), pending, now);
  expect(event).toMatchObject({ path: "/workspace/persistent/w" });
});

test("the next look is due at the earliest of count, unused delay and TTL", () => {
  const ttl = { ttlSecondsAfterUnused: 3600 };
  const due = (given: Given, status: PersistentWorkspaceStatus) => nextDeadline(seen(given), status, now);
  expect(due({ activeRuns: 1, usageDue: now + 3000 }, bound)).toBe(now + 3000);
  expect(due({ lastCompletion: now - 400 }, { ...bound, activeRuns: 1 })).toBe(now + 600);
  expect(due({ spec: ttl }, bound)).toBe(now - 100_000 + 3_600_000);
  expect(due({ spec: ttl }, { ...bound, phase: "Lost" })).toBeUndefined();
  expect(due({}, bound)).toBeUndefined();
});
