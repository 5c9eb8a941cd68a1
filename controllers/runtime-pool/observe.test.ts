import { expect, test } from "vitest";
import { annotations } from "#api/labels.ts";
import { timestamp } from "#api/time.ts";
import type { Pod, ReplicaSet } from "#kube/builtin.ts";
import { leavingCost, observe, type PoolPod, type Seen } from "./observe.ts";

const now = Date.parse("2026-01-01T00:00:00Z");

interface PodOptions {
  ready?: boolean;
  activeRuns?: number;
  holdsWorkspace?: boolean;
  /** Milliseconds ago. */
  drainingFor?: number;
  /** Its ReplicaSet was told to let it go first. */
  leaving?: boolean;
  deleting?: boolean;
  phase?: "Running" | "Failed";
}

function pod(name: string, options: PodOptions = {}): PoolPod {
  const made: Pod = {
    metadata: {
      name,
      uid: name,
      annotations: {
        ...(options.drainingFor === undefined ? {} : { [annotations.draining]: timestamp(now - options.drainingFor) }),
        ...(options.leaving ? { [annotations.deletionCost]: leavingCost } : {}),
      },
      ...(options.deleting ? { deletionTimestamp: timestamp(now) } : {}),
    },
    spec: { containers: [] },
    status: {
      phase: options.phase ?? "Running",
      conditions: [{ type: "Ready", status: (options.ready ?? true) ? "True" : "False" }],
    },
  };
  return { pod: made, activeRuns: options.activeRuns ?? 0, holdsWorkspace: options.holdsWorkspace ?? false };
}

function set(name: string, replicas: number, pods: PoolPod[]) {
  const made: ReplicaSet = {
    metadata: { name },
    spec: { replicas, selector: {}, template: { spec: { containers: [] } } },
  };
  return { set: made, pods };
}

const seen = (change: Partial<Seen>): Seen => ({
  replicas: 2,
  drainTimeoutMs: 300_000,
  current: undefined,
  old: [],
  ...change,
});

/** The changes in one word each, so that a table can be read. */
function words(given: Seen): string[] {
  return observe(given, now).changes.map((change) => {
    switch (change.kind) {
      case "create":
        return `create ${change.replicas}`;
      case "drain":
      case "undrain":
        return `${change.kind} ${change.pod.metadata.name}`;
      case "shrink":
        return `shrink ${change.set.metadata.name} to ${change.replicas} by ${change.pods.map((one) => one.metadata.name)}`;
      case "grow":
        return `grow ${change.set.metadata.name} to ${change.replicas}`;
      case "remove":
        return `remove ${change.set.metadata.name}`;
      default:
        return change satisfies never;
    }
  });
}

const cases: Record<string, { given: Seen; want: string[] }> = {
  "a new Runtime gets a ReplicaSet with all replicas": { given: seen({}), want: ["create 2"] },
  "a pool that is as wanted is left alone": {
    given: seen({ current: set("new", 2, [pod("a"), pod("b", { activeRuns: 1 })]) }),
    want: [],
  },
  "old Pods keep working until new ones are ready": {
    given: seen({
      current: set("new", 2, [pod("c", { ready: false }), pod("d", { ready: false })]),
      old: [set("old", 2, [pod("a"), pod("b")])],
    }),
    want: [],
  },
  "each new Pod that is ready lets one old Pod drain": {
    given: seen({
      current: set("new", 2, [pod("c"), pod("d", { ready: false })]),
      old: [set("old", 2, [pod("a"), pod("b")])],
    }),
    want: ["drain b"],
  },
  "a new Pod that drains is no successor": {
    given: seen({
      replicas: 1,
      current: set("new", 2, [pod("c", { drainingFor: 10, activeRuns: 1 }), pod("d", { ready: false })]),
      old: [set("old", 1, [pod("a")])],
    }),
    want: [],
  },
  "an old Pod that is not ready does not wait for its successor": {
    given: seen({
      current: set("new", 2, [pod("c", { ready: false }), pod("d", { ready: false })]),
      old: [set("old", 2, [pod("a", { ready: false }), pod("b")])],
    }),
    want: ["drain a"],
  },
  "a Pod is marked first and goes in a later pass": {
    given: seen({ current: set("new", 2, [pod("c"), pod("d")]), old: [set("old", 1, [pod("a")])] }),
    want: ["drain a"],
  },
  "a drained Pod without Runs and workspaces goes": {
    given: seen({
      current: set("new", 2, [pod("c"), pod("d")]),
      old: [set("old", 2, [pod("a", { drainingFor: 10 }), pod("b", { drainingFor: 10, activeRuns: 1 })])],
    }),
    want: ["shrink old to 1 by a"],
  },
  "a draining Pod with a workspace in use stays": {
    given: seen({
      current: set("new", 2, [pod("c"), pod("d")]),
      old: [set("old", 1, [pod("a", { drainingFor: 10, holdsWorkspace: true })])],
    }),
    want: [],
  },
  "after the drain timeout a Pod goes with what it holds": {
    given: seen({
      current: set("new", 2, [pod("c"), pod("d")]),
      old: [set("old", 1, [pod("a", { drainingFor: 300_000, activeRuns: 1 })])],
    }),
    want: ["shrink old to 0 by a"],
  },
  "an old ReplicaSet does not replace a Pod that died": {
    given: seen({
      current: set("new", 2, [pod("c"), pod("d", { ready: false })]),
      old: [set("old", 2, [pod("a"), pod("b", { phase: "Failed" })])],
    }),
    want: ["shrink old to 1 by "],
  },
  "an empty old ReplicaSet is removed": {
    given: seen({ current: set("new", 2, [pod("c"), pod("d")]), old: [set("old", 0, [])] }),
    want: ["remove old"],
  },
  "scaling up grows the ReplicaSet": {
    given: seen({ replicas: 4, current: set("new", 2, [pod("a"), pod("b")]) }),
    want: ["grow new to 4"],
  },
  "scaling up takes drain marks back before it makes Pods": {
    given: seen({ replicas: 3, current: set("new", 2, [pod("a"), pod("b", { drainingFor: 10, activeRuns: 1 })]) }),
    want: ["undrain b", "grow new to 3"],
  },
  "scaling down drains the emptiest Pod, one without a workspace before one with": {
    given: seen({
      replicas: 1,
      current: set("new", 3, [
        pod("a", { activeRuns: 2 }),
        pod("b", { holdsWorkspace: true }),
        pod("c", { activeRuns: 1 }),
      ]),
    }),
    want: ["drain c", "drain a"],
  },
  "scaling down takes a Pod that is not ready first": {
    given: seen({ replicas: 1, current: set("new", 2, [pod("a"), pod("b", { ready: false })]) }),
    want: ["drain b"],
  },
  "a drained surplus Pod goes": {
    given: seen({ replicas: 1, current: set("new", 2, [pod("a"), pod("b", { drainingFor: 10 })]) }),
    want: ["shrink new to 1 by b"],
  },
  "a Pod that was let go and is still there is neither taken back nor let go again": {
    given: seen({ replicas: 1, current: set("new", 1, [pod("a"), pod("b", { drainingFor: 10, leaving: true })]) }),
    want: [],
  },
  "an old Pod that was let go and is still there is not let go again": {
    given: seen({
      current: set("new", 2, [pod("c"), pod("d")]),
      old: [
        set("old", 1, [pod("a", { drainingFor: 10, leaving: true }), pod("b", { drainingFor: 10, activeRuns: 1 })]),
      ],
    }),
    want: [],
  },
  "more are wanted while a Pod that was let go is still there": {
    given: seen({ replicas: 2, current: set("new", 1, [pod("a"), pod("b", { drainingFor: 10, leaving: true })]) }),
    want: ["grow new to 2"],
  },
  "a Pod that was let go and will stay is taken back": {
    given: seen({ replicas: 2, current: set("new", 2, [pod("a"), pod("b", { drainingFor: 10, leaving: true })]) }),
    want: ["undrain b"],
  },
  "fewer wanted: replicas without a Pod go before a Pod drains": {
    given: seen({ replicas: 2, current: set("new", 3, [pod("a"), pod("b")]) }),
    want: ["shrink new to 2 by "],
  },
  "replicas without a Pod go although a Pod drains": {
    given: seen({ replicas: 1, current: set("new", 4, [pod("a"), pod("b", { drainingFor: 10, activeRuns: 1 })]) }),
    want: ["shrink new to 2 by "],
  },
  "replicas that were never born are simply not asked for any more": {
    given: seen({ replicas: 1, current: set("new", 3, []) }),
    want: ["shrink new to 1 by "],
  },
  "a pool scaled to zero drains everything": {
    given: seen({ replicas: 0, current: set("new", 1, [pod("a", { activeRuns: 1 })]) }),
    want: ["drain a"],
  },
};

test.each(Object.entries(cases))("%s", (_, { given, want }) => {
  expect(words(given)).toEqual(want);
});

test("the earliest end of a drain is when to look again", () => {
  const given = seen({
    current: set("new", 2, [pod("c"), pod("d")]),
    old: [
      set("old", 2, [pod("a", { drainingFor: 1000, activeRuns: 1 }), pod("b", { drainingFor: 5000, activeRuns: 1 })]),
    ],
  });
  expect(observe(given, now).nextDeadlineMs).toBe(295_000);
});
