import { expect, test } from "vitest";
import { claimMs } from "./claims.ts";
import { maxOvertaken } from "./engine.ts";
import {
  makePod,
  makeRun,
  makeWorkload,
  makeWorkspace,
  type PodOptions,
  type RunOptions,
  requires,
} from "./testing/builders.ts";
import { FakeCluster } from "./testing/fake-cluster.ts";

/** A cluster with Runtime `bash` and ready Pods of so many places each. */
function cluster(pods: Record<string, number>, options: PodOptions = {}): FakeCluster {
  const made = new FakeCluster().withRuntime({ runs: 2 });
  for (const [name, runs] of Object.entries(pods)) made.pods.set(makePod(name, { capacity: { runs }, ...options }));
  made.deliver();
  return made;
}

let age = 0;
const create = (to: FakeCluster, name: string, options: RunOptions = {}) =>
  to.runs.set(makeRun(name, { created: age++, version: to.version(), ...options }));
const statusOf = (of: FakeCluster, name: string) => of.runs.truth.get(`ns/${name}`)?.status;
const podOf = (of: FakeCluster, name: string) => statusOf(of, name)?.assignedPod;

function claim(on: FakeCluster, name: string): void {
  const status = statusOf(on, name);
  if (status !== undefined)
    on.setStatus(`ns/${name}`, { ...status, phase: "Running", attempt: (status.attempt ?? 0) + 1 });
}

function end(on: FakeCluster, name: string): void {
  on.setStatus(`ns/${name}`, { phase: "Succeeded" });
}

test("a session waits for an empty Pod, and nobody joins it", () => {
  const c = cluster({ p: 2 });
  create(c, "a");
  create(c, "s", { spec: { mode: { session: {} } } });
  c.settle();
  claim(c, "a");
  c.settle();
  expect([podOf(c, "a"), podOf(c, "s")]).toEqual(["p", undefined]);
  end(c, "a");
  c.settle();
  create(c, "b");
  c.settle();
  expect([podOf(c, "s"), podOf(c, "b")]).toEqual(["p", undefined]);
});

test("when the one that a Pod was kept free for goes away, the others get it", () => {
  const c = cluster({ p: 2 });
  for (let i = 0; i < 2; i++) create(c, `s${i}`);
  c.settle();
  create(c, "large", { requests: { runs: 2 } });
  for (let i = 2; i < 2 + maxOvertaken + 1; i++) {
    create(c, `s${i}`);
    claim(c, `s${i - 1}`);
    end(c, `s${i - 2}`);
    c.settle();
  }
  expect(c.engine.ledger.holding).toBe(1);
  const last = Array.from({ length: 40 }, (_, i) => `s${i}`).filter((name) => statusOf(c, name)?.phase === undefined);
  const waiting = last.find((name) => c.runs.truth.has(`ns/${name}`));
  expect(waiting).toBeDefined();
  c.runs.delete("ns/large");
  c.settle();
  expect(c.engine.ledger.holding).toBe(0);
  expect(statusOf(c, waiting ?? "")?.phase).toBe("Scheduled");
});

test("a Pod is no longer kept free for a Run that has lost the company that it needs", () => {
  const c = cluster({ p: 2 });
  create(c, "member", { labels: { app: "db" } });
  create(c, "other");
  c.settle();
  create(c, "picky", { requests: { runs: 1 }, spec: requires({ app: "db" }) });
  c.settle();
  const p = c.engine.ledger.slot("ns/uid-p");
  if (p === undefined) throw new Error("no Pod");
  c.engine.ledger.hold(makeWorkload("picky", { created: 2 }), p);
  for (const name of ["member", "other"]) claim(c, name);
  end(c, "member");
  c.settle();
  expect(podOf(c, "picky")).toBeUndefined();
  expect(c.engine.ledger.holding).toBe(0);
  create(c, "late");
  c.settle();
  expect(podOf(c, "late")).toBe("p");
});

test("a Pod that is kept free is open at once to a Run of higher priority, though all of its kind wait", () => {
  const c = cluster({ p: 3 });
  create(c, "old", { requests: { runs: 2 } });
  create(c, "large", { requests: { runs: 3 } });
  c.settle();
  const p = c.engine.ledger.slot("ns/uid-p");
  if (p === undefined) throw new Error("no Pod");
  c.engine.ledger.hold(makeWorkload("large", { created: 0 }), p);
  create(c, "late");
  c.settle();
  expect(podOf(c, "late")).toBeUndefined(); // one place is free, but kept
  create(c, "urgent", { spec: { priority: 1 } });
  c.settle();
  expect([podOf(c, "late"), podOf(c, "urgent")]).toEqual([undefined, "p"]);
});

test("a Pod that let an assignment lie is avoided until it claims again", () => {
  const c = cluster({ p: 4, q: 4 });
  create(c, "a");
  c.settle();
  expect(podOf(c, "a")).toBe("p");
  c.elapse(claimMs);
  expect(statusOf(c, "a")).toMatchObject({ phase: "Scheduled", assignedPod: "q", assignmentEpoch: 2 });
  for (const name of ["b", "c"]) create(c, name);
  c.settle();
  expect([podOf(c, "b"), podOf(c, "c")]).toEqual(["q", "q"]);
  create(c, "d"); // q has room for one more only
  create(c, "e");
  c.settle();
  expect([podOf(c, "d"), podOf(c, "e")]).toEqual(["q", "p"]);
  claim(c, "e");
  c.settle();
  create(c, "f");
  c.settle();
  expect(podOf(c, "f")).toBe("p");
});

test("the deadline of a claim belongs to one assignment: a later one has its own, and a claim ends it", () => {
  const c = cluster({ p: 2 });
  create(c, "a");
  c.elapse(claimMs - 1);
  const { assignedPod: _pod, assignedPodUID: _uid, ...status } = statusOf(c, "a") ?? { phase: "Pending" };
  c.setStatus("ns/a", { ...status, phase: "Pending", reason: "HandedBack" });
  c.elapse(claimMs - 1);
  expect(statusOf(c, "a")).toMatchObject({ phase: "Scheduled", assignmentEpoch: 2 });
  claim(c, "a");
  c.elapse(10 * claimMs);
  expect(statusOf(c, "a")).toMatchObject({ phase: "Running", assignmentEpoch: 2 });
  expect(c.counters.written.takeBack).toBe(0);
});

test("a Run that its Pod keeps handing back is not placed in a loop", () => {
  const c = cluster({ p: 2 });
  create(c, "a");
  const handBack = () => {
    const { assignedPod: _pod, assignedPodUID: _uid, ...status } = statusOf(c, "a") ?? { phase: "Pending" };
    if (status.phase === "Scheduled") c.setStatus("ns/a", { ...status, phase: "Pending", reason: "HandedBack" });
  };
  for (let ms = 0; ms < 60_000; ms += 10) {
    c.elapse(10);
    handBack();
  }
  expect(c.counters.written.assign).toBeGreaterThan(5);
  expect(c.counters.written.assign).toBeLessThan(15);
});

test("a Run that waits for company is placed when it comes, and not by other Runs that start", () => {
  const c = cluster({ p: 4, q: 4 });
  create(c, "follower", { spec: requires({ team: "x" }) });
  c.settle();
  const waited = c.counters.waited;
  create(c, "stranger", { labels: { team: "y" } });
  c.settle();
  expect(c.counters.waited).toBe(waited); // nobody looked at it again
  create(c, "friend", { labels: { team: "x" } });
  c.settle();
  expect(podOf(c, "follower")).toBe(podOf(c, "friend"));
});

test("changed labels count: a Run that waits is kept off no longer, one that is active keeps others off", () => {
  const c = cluster({ p: 4 });
  create(c, "hermit", { labels: { team: "z" }, spec: requires(undefined, { team: "x" }) });
  c.settle();
  create(c, "a", { labels: { team: "x" } });
  c.settle();
  expect(podOf(c, "a")).toBeUndefined();
  const run = c.runs.truth.get("ns/a");
  if (run === undefined) throw new Error("no Run");
  c.runs.set({ ...run, metadata: { ...run.metadata, labels: { team: "y" }, resourceVersion: c.version() } });
  c.settle();
  expect(podOf(c, "a")).toBe("p");
});

test("one that is kept off a freed Pod by its labels does not stand in the way of those behind it", () => {
  const c = cluster({ p: 2 });
  for (const name of ["one", "two", "a", "b"]) create(c, name, name === "a" ? { labels: { team: "x" } } : {});
  c.settle();
  expect(["one", "two", "a", "b"].map((name) => podOf(c, name))).toEqual(["p", "p", undefined, undefined]);
  create(c, "hermit", { spec: { priority: 5, ...requires(undefined, { team: "x" }) } });
  end(c, "one");
  c.settle();
  end(c, "two");
  c.settle();
  expect(["hermit", "a", "b"].map((name) => podOf(c, name))).toEqual(["p", undefined, "p"]);
  end(c, "hermit");
  c.settle();
  expect(podOf(c, "a")).toBe("p");
});

test("many assignments that lie are all taken back, also those that are touched meanwhile", () => {
  const c = cluster({ p: 9, q: 9 });
  for (let i = 0; i < 6; i++) create(c, `r${i}`);
  c.settle();
  c.time += claimMs;
  const first = c.engine.next(true);
  expect(first).toMatchObject({ intent: { kind: "takeBack" } });
  for (let i = 0; i < 6; i++) {
    const run = c.runs.truth.get(`ns/r${i}`);
    if (run === undefined) throw new Error("no Run");
    const metadata = { ...run.metadata, annotations: { note: "x" }, resourceVersion: c.version() };
    c.runs.set({ ...run, metadata });
  }
  c.deliver();
  if (first !== undefined && first !== "more") c.perform(first);
  c.elapse(2000);
  expect(c.counters.written.takeBack).toBe(6);
});

test("Runs that a workspace binds to a full Pod do not keep others from free ones", () => {
  const c = cluster({ p: 1, q: 1 });
  c.workspaces.set(makeWorkspace("ws", { phase: "Bound", runtime: "bash", boundPod: "p", boundPodUID: "uid-p" }));
  create(c, "a", { spec: { workspace: { name: "ws" } } });
  create(c, "b", { spec: { workspace: { name: "ws" } } });
  create(c, "c");
  c.settle();
  expect(["a", "b", "c"].map((name) => podOf(c, name))).toEqual(["p", undefined, "q"]);
  claim(c, "c");
  end(c, "c");
  c.settle();
  expect(podOf(c, "b")).toBeUndefined();
  end(c, "a");
  c.settle();
  expect(podOf(c, "b")).toBe("p");
});

test("nothing that happens to one Run or Pod makes the scheduler look at all that wait", () => {
  const c = cluster({ p: 2, q: 2 });
  for (let i = 0; i < 500; i++) create(c, `r${String(i).padStart(3, "0")}`);
  c.settle();
  expect(c.counters).toMatchObject({ placed: 4, waited: 1 });
  claim(c, "r000");
  c.settle();
  c.pods.set(makePod("p", { capacity: { runs: 2 } })); // a heartbeat
  c.settle();
  expect(c.counters).toMatchObject({ placed: 4, waited: 1 });
  end(c, "r000");
  c.settle();
  expect(c.counters).toMatchObject({ placed: 5, waited: 1 }); // the next in line took it, and nobody else was asked
});

test("each waiting Run of a class is told why, once, though one decision stands for all", () => {
  const c = cluster({ p: 1 });
  for (let i = 0; i < 50; i++) create(c, `r${String(i).padStart(2, "0")}`);
  c.settle();
  claim(c, "r00");
  c.elapse(29_000);
  expect(c.counters.written.wait).toBe(0);
  c.elapse(2000);
  expect(c.counters.written.wait).toBe(49);
  expect(statusOf(c, "r49")).toMatchObject({ phase: "Pending", reason: "InsufficientCapacity" });
  c.elapse(600_000);
  expect(c.counters.written.wait).toBe(49);
});

test("changed counts reach the first in line after a minute", () => {
  const c = cluster({ p: 1 });
  for (const name of ["a", "b"]) create(c, name);
  c.settle();
  claim(c, "a");
  c.elapse(31_000);
  expect(statusOf(c, "b")?.message).toContain("(1 Pod: 1 full)");
  c.pods.set(makePod("q", { ready: false }));
  c.elapse(58_000);
  expect(statusOf(c, "b")?.message).toContain("(1 Pod: 1 full)");
  c.elapse(3000);
  expect(statusOf(c, "b")?.message).toContain("(2 Pods: 1 full, 1 not ready)");
  expect(c.counters.written.wait).toBe(2);
});
