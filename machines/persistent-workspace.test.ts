import { expect, test } from "vitest";
import type { PersistentWorkspaceStatus } from "#api/kinds/persistent-workspace.ts";
import { step } from "./lib/settle.ts";
import {
  type PersistentWorkspaceEvent,
  persistentWorkspaceMachine,
  persistentWorkspaceStatus,
  restorePersistentWorkspace,
} from "./persistent-workspace.ts";

const t0 = Date.parse("2026-07-06T12:00:00Z");
const message = "text for people";

function move(status: PersistentWorkspaceStatus | undefined, event: PersistentWorkspaceEvent) {
  const { snapshot, effects, changed } = step(persistentWorkspaceMachine, restorePersistentWorkspace(status), event);
  return { status: persistentWorkspaceStatus(snapshot), effects: effects.map(({ type }) => type), changed };
}

const bind: PersistentWorkspaceEvent = {
  type: "BIND",
  runtime: "bash",
  pod: "pod-a",
  podUID: "uid-a",
  path: "/workspace/persistent/ci",
  finalizer: true,
  now: t0,
};
const lose: PersistentWorkspaceEvent = { type: "LOSE", reason: "BoundPodDeleted", message, now: t0 + 9000 };
const release = (reason: "TTLExpired" | "DeletionRequested"): PersistentWorkspaceEvent => ({
  type: "RELEASE",
  reason,
  message,
  now: t0 + 8000,
});
const bound = move(undefined, bind).status;

test("the finalizer is on the object before the binding is written", () => {
  const first = move(undefined, { ...bind, finalizer: false });
  expect(first).toEqual({ status: { phase: "Pending" }, effects: ["addFinalizer"], changed: false });
  expect(move(first.status, bind).effects).toEqual([]);
});

test("a binding records Pod, UID, path and time, and says so", () => {
  expect(bound).toMatchObject({
    phase: "Bound",
    runtime: "bash",
    boundPod: "pod-a",
    boundPodUID: "uid-a",
    path: "/workspace/persistent/ci",
    boundTime: "2026-07-06T12:00:00.000000Z",
    conditions: [
      { type: "Bound", status: "True", reason: "Bound" },
      { type: "PodReady", status: "True", reason: "PodReady" },
    ],
  });
});

test("waiting is said once and forgotten by the binding", () => {
  const wait: PersistentWorkspaceEvent = { type: "WAIT", reason: "NoReadyRuntimePods", message, now: t0 - 5000 };
  const waiting = move(undefined, wait).status;
  expect(waiting).toMatchObject({ reason: "NoReadyRuntimePods", conditions: [{ type: "Bound", status: "False" }] });
  expect(move(waiting, wait).changed).toBe(false);
  expect(move(waiting, bind).status).not.toHaveProperty("reason");
});

test("a lost workspace keeps what it was bound to, is never bound again and lets go of its finalizer", () => {
  const lost = move(bound, lose);
  expect(lost.effects).toEqual(["removeFinalizer"]);
  expect(lost.status).toMatchObject({ phase: "Lost", reason: "BoundPodDeleted", boundPodUID: "uid-a" });
  expect(move(lost.status, bind).changed).toBe(false);
  expect(move(lost.status, { type: "FINALIZER_LEFT" })).toMatchObject({ effects: ["removeFinalizer"], changed: false });
});

test("the TTL releases first and deletes then; a forgotten deletion is asked for again", () => {
  const released = move(bound, release("TTLExpired"));
  expect(released).toMatchObject({ status: { phase: "Released", reason: "TTLExpired" }, effects: ["requestDeletion"] });
  expect(move(released.status, { type: "NOT_DELETED" })).toMatchObject({
    effects: ["requestDeletion"],
    changed: false,
  });
});

test("somebody's deletion releases, and the finalizer stays for the agent", () => {
  const released = move(bound, release("DeletionRequested"));
  expect(released).toMatchObject({ status: { phase: "Released" }, effects: [] });
  expect(move(released.status, { type: "FINALIZER_LEFT" }).effects).toEqual([]);
});

test("a released workspace whose Pod goes is Lost, so that nobody waits for an agent that is gone", () => {
  const released = move(bound, release("DeletionRequested")).status;
  expect(move(released, lose)).toMatchObject({ status: { phase: "Lost" }, effects: ["removeFinalizer"] });
});

test("a workspace that was never bound loses its finalizer at once", () => {
  const released = move(undefined, release("DeletionRequested"));
  expect(released).toMatchObject({ status: { phase: "Released" }, effects: ["removeFinalizer"] });
  expect(move(released.status, { type: "FINALIZER_LEFT" }).effects).toEqual(["removeFinalizer"]);
});

test("the last use is recorded once for each change from active to unused, at the latest end", () => {
  const used = move(bound, { type: "USE", activeRuns: 2, now: t0 + 1000 }).status;
  expect(used).toMatchObject({ activeRuns: 2 });
  expect(used.conditions?.find(({ type }) => type === "InUse")?.status).toBe("True");
  const ended = "2026-07-06T12:00:05.000000Z";
  const unused = move(used, { type: "UNUSED", lastUsedTime: ended, now: t0 + 6000 }).status;
  expect(unused).toMatchObject({ activeRuns: 0, lastUsedTime: ended });
  expect(move(unused, { type: "UNUSED", lastUsedTime: ended, now: t0 + 7000 }).changed).toBe(false);
  const earlier = "2026-07-06T12:00:04.000000Z";
  expect(move(used, { type: "UNUSED", lastUsedTime: ended, now: t0 }).status.lastUsedTime).toBe(ended);
  expect(move(unused, { type: "UNUSED", lastUsedTime: earlier, now: t0 }).changed).toBe(false);
});

test("a use that was never written down still sets the time of the last use", () => {
  const ended = "2026-07-06T12:00:05.000000Z";
  expect(move(bound, { type: "UNUSED", lastUsedTime: ended, now: t0 + 6000 }).status).toMatchObject({
    activeRuns: 0,
    lastUsedTime: ended,
  });
});

test("a Pod that is merely not ready keeps the binding", () => {
  const down = move(bound, { type: "POD_NOT_READY", message, now: t0 + 1000 });
  expect(down.status).toMatchObject({ phase: "Bound", boundPodUID: "uid-a" });
  expect(down.status.conditions?.find(({ type }) => type === "PodReady")).toMatchObject({ status: "False", message });
  expect(move(down.status, { type: "POD_NOT_READY", message, now: t0 + 2000 }).changed).toBe(false);
  expect(move(down.status, { type: "POD_READY", now: t0 + 3000 }).changed).toBe(true);
  expect(move(bound, { type: "POD_READY", now: t0 + 3000 }).changed).toBe(false);
});
