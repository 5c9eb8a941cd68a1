import { expect, test } from "vitest";
import type { Run, RunStatus } from "#api/kinds/run.ts";
import { makeRun } from "../testing/builders.ts";
import { bounceDelay } from "./bounced.ts";
import { type PendingAction, pendingAction } from "./pending.ts";
import { type Report, reportWaiting, type WaitState, type Written } from "./waiting.ts";

const now = Date.UTC(2026, 0, 1, 12);
const at = (ms: number) => new Date(now + ms).toISOString();
const stop = { termination: { mode: "Immediate", message: "enough" } } as const;

const pending: Record<string, { run: Run; want: PendingAction }> = {
  "P5: an ordinary Run is placed": { run: makeRun("a"), want: { kind: "place" } },
  "P1: a Run that is being deleted is left alone": {
    run: makeRun("a", { deleting: true, spec: stop }),
    want: { kind: "leave" },
  },
  "P2: termination cancels": { run: makeRun("a", { spec: stop }), want: { kind: "cancel", message: "enough" } },
  "P2: termination without a message gets one": {
    run: makeRun("a", { spec: { termination: { mode: "Immediate" } } }),
    want: { kind: "cancel", message: "cancelled before it was placed" },
  },
  "P2: termination wins over back-off and over wrong requests": {
    run: makeRun("a", { spec: stop, requests: { runs: -1 }, status: { nextAttemptTime: at(5000) } }),
    want: { kind: "cancel", message: "enough" },
  },
  "P3: a negative request is invalid": {
    run: makeRun("a", { requests: { gpu: -1 } }),
    want: { kind: "invalid", message: "spec.resources.requests.gpu is -1; write whole numbers of 0 or more" },
  },
  "P3: every wrong request is named, the right ones are not": {
    run: makeRun("a", { requests: { runs: "500m", gpu: 1, mem: "much" } }),
    want: {
      kind: "invalid",
      message:
        'spec.resources.requests.runs is "500m", spec.resources.requests.mem is "much"; write whole numbers of 0 or more',
    },
  },
  "a request that is whole in other words is fine": {
    run: makeRun("a", { requests: { runs: "2000m" } }),
    want: { kind: "place" },
  },
  "P4: a back-off is slept over": {
    run: makeRun("a", { status: { nextAttemptTime: at(5000) } }),
    want: { kind: "sleep", until: now + 5000 },
  },
  "P5: at its very end the back-off is over": {
    run: makeRun("a", { status: { nextAttemptTime: at(0) } }),
    want: { kind: "place" },
  },
};

test.each(Object.entries(pending))("%s", (_, { run, want }) => {
  expect(pendingAction(run, now)).toEqual(want);
});

const waits: WaitState = { reason: "NoReadyPods", message: "m", hopeless: false, since: 0, reasonSince: 0 };
const silent: Written = { reason: undefined, message: undefined, at: 0 };
const full = { ...waits, reason: "InsufficientCapacity" } as const;
const write: Report = { kind: "write" };

const reports: Record<string, { state: WaitState; written?: Written; now: number; want: Report }> = {
  "no ready Pods: silent before 5 s": { state: waits, now: 4999, want: { kind: "later", at: 5000 } },
  "no ready Pods: written after 5 s": { state: waits, now: 5000, want: write },
  "no capacity: silent before 30 s": { state: full, now: 29_999, want: { kind: "later", at: 30_000 } },
  "no capacity: written after 30 s": { state: full, now: 30_000, want: write },
  "no capacity ever: written with the first decision": { state: { ...full, hopeless: true }, now: 200, want: write },
  "a missing Runtime: written with the first decision": {
    state: { ...waits, reason: "RuntimeNotFound" },
    now: 200,
    want: write,
  },
  "a workspace: not before the caches had time to agree": {
    state: { ...waits, reason: "WorkspaceNotBound" },
    now: 100,
    want: { kind: "later", at: 200 },
  },
  "affinity: written with the first decision": {
    state: { ...waits, reason: "AffinityNotSatisfied" },
    now: 200,
    want: write,
  },
  "a new reason must hold for its own delay": {
    state: { ...full, reasonSince: 50_000 },
    written: { reason: "NoReadyPods", message: "x", at: 5000 },
    now: 60_000,
    want: { kind: "later", at: 80_000 },
  },
  "a Run that came later waits its own delay": {
    state: { ...full, since: 10_000 },
    now: 30_000,
    want: { kind: "later", at: 40_000 },
  },
  "what is written already is not written again": {
    state: waits,
    written: { reason: "NoReadyPods", message: "m", at: 5000 },
    now: 1e9,
    want: { kind: "nothing" },
  },
  "changed counts wait for a minute since the last write": {
    state: waits,
    written: { reason: "NoReadyPods", message: "other", at: 5000 },
    now: 64_999,
    want: { kind: "later", at: 65_000 },
  },
  "then they are written": {
    state: waits,
    written: { reason: "NoReadyPods", message: "other", at: 5000 },
    now: 65_000,
    want: write,
  },
  "the back-off that is over makes way for the reason of now": {
    state: waits,
    written: { reason: "BackingOff", message: "x", at: 0 },
    now: 5000,
    want: write,
  },
};

test.each(Object.entries(reports))("%s", (_, { state, written = silent, now: when, want }) => {
  expect(reportWaiting(state, written, when)).toEqual(want);
});

const bounces: Record<string, { status: Partial<RunStatus> | undefined; want: number }> = {
  "never placed": { status: undefined, want: 0 },
  "came back once": { status: { assignmentEpoch: 1 }, want: 0 },
  "came back twice": { status: { assignmentEpoch: 2 }, want: 250 },
  "assignments that were claimed do not count": { status: { assignmentEpoch: 5, attempt: 4 }, want: 0 },
  doubles: { status: { assignmentEpoch: 5 }, want: 2000 },
  "is bounded": { status: { assignmentEpoch: 5000 }, want: 15_000 },
};

test.each(Object.entries(bounces))("bounced: %s", (_, { status, want }) => {
  expect(bounceDelay(status && { phase: "Pending", ...status })).toBe(want);
});
