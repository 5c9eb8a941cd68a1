import { expect, test } from "vitest";
import type { RunStatus } from "#api/kinds/run.ts";
import type { Retry } from "#api/runs.ts";
import { step } from "./lib/settle.ts";
import { type RunEvent, restoreRun, runMachine, runStatus } from "./run.ts";

const t0 = Date.parse("2026-07-06T12:00:00Z");
const retry = (more: Partial<Retry> = {}): Retry => ({ maxAttempts: 1, backoffMs: 1000, reasons: [], ...more });

/** The status after these events. */
function after(status: RunStatus | undefined, ...events: RunEvent[]): RunStatus {
  let snapshot = restoreRun(status);
  for (const event of events) snapshot = step(runMachine, snapshot, event).snapshot;
  return runStatus(snapshot);
}

/** Whether the event changes anything: an unchanged status is not written. */
function changes(status: RunStatus | undefined, event: RunEvent): boolean {
  return step(runMachine, restoreRun(status), event).changed;
}

const assign: RunEvent = { type: "ASSIGN", pod: "pod-a", podUID: "uid-a", now: t0 };
const scheduled = after(undefined, assign);
const running = after(scheduled, { type: "CLAIM", now: t0 + 10.5 });
const fail = (more: Partial<Extract<RunEvent, { type: "FAIL" }>> = {}): RunEvent => ({
  type: "FAIL",
  reason: "ExitNonZero",
  message: "exit code 3",
  exitCode: 3,
  retry: retry(),
  now: t0 + 2000,
  ...more,
});

test("a Run without a status is Pending", () => {
  expect(after(undefined)).toEqual({ phase: "Pending" });
});

test("three small writes make a Run: assigned, claimed, ended", () => {
  expect(scheduled).toEqual({
    phase: "Scheduled",
    assignedPod: "pod-a",
    assignedPodUID: "uid-a",
    assignmentEpoch: 1,
  });
  expect(running).toEqual({
    ...scheduled,
    phase: "Running",
    attempt: 1,
    startTime: "2026-07-06T12:00:00.010500Z",
  });
  const done = after(running, {
    type: "SUCCEED",
    exitCode: 0,
    outputs: { a: "b" },
    artifactRefs: [],
    now: t0 + 1510.5,
  });
  const message = "the program ended with exit code 0";
  const at = { reason: "Completed", message, lastTransitionTime: "2026-07-06T12:00:01.510500Z" };
  expect(done).toEqual({
    ...running,
    phase: "Succeeded",
    completionTime: "2026-07-06T12:00:01.510500Z",
    duration: "1.5s",
    exitCode: 0,
    outputs: { a: "b" },
    conditions: [
      { type: "Succeeded", status: "True", ...at },
      { type: "Finished", status: "True", ...at },
    ],
  });
});

test("waiting is said once, in status and condition, and forgotten by the assignment", () => {
  const wait: RunEvent = { type: "WAIT", reason: "NoReadyPods", message: "Runtime bash has no ready Pod", now: t0 };
  const waiting = after(undefined, wait);
  expect(waiting).toMatchObject({ reason: "NoReadyPods", conditions: [{ type: "Scheduled", status: "False" }] });
  expect(changes(waiting, { ...wait, now: t0 + 60_000 })).toBe(false);
  expect(changes(waiting, { ...wait, reason: "InsufficientCapacity" })).toBe(true);
  expect(after(waiting, assign)).toEqual(scheduled);
});

test("the condition of a new reason keeps the time since when it waits", () => {
  const waits = (reason: "NoReadyPods" | "InsufficientCapacity", now: number): RunEvent => ({
    type: "WAIT",
    reason,
    message: reason,
    now,
  });
  const twice = after(undefined, waits("NoReadyPods", t0), waits("InsufficientCapacity", t0 + 5000));
  expect(twice.conditions?.map((each) => each.lastTransitionTime)).toEqual(["2026-07-06T12:00:00.000000Z"]);
});

const returns: Record<string, RunEvent> = {
  TakenBack: { type: "TAKE_BACK", now: t0 },
  HandedBack: { type: "HAND_BACK", message: "the Pod is full", now: t0 },
  PodDeleted: { type: "POD_LOST", reason: "PodDeleted", message: "Pod pod-a is gone", retry: retry(), now: t0 },
};

test.each(Object.entries(returns))(
  "a Run that never started returns with %s and spends no attempt",
  (reason, event) => {
    const back = after(scheduled, event);
    expect(back).toEqual({ phase: "Pending", assignmentEpoch: 1, reason, message: back.message });
    expect(after(back, assign)).toEqual({ ...scheduled, assignmentEpoch: 2 });
  },
);

test("a failure that is retried goes back to Pending with its history, its reason and its due time", () => {
  const back = after(running, fail({ retry: retry({ maxAttempts: 3 }) }));
  expect(back).toMatchObject({
    phase: "Pending",
    reason: "BackingOff",
    message: "attempt 1 of 3 failed (ExitNonZero: exit code 3); the next one starts after 2026-07-06T12:00:03.000000Z",
    attempt: 1,
    assignmentEpoch: 1,
    nextAttemptTime: "2026-07-06T12:00:03.000000Z",
    attempts: [
      {
        number: 1,
        pod: "pod-a",
        reason: "ExitNonZero",
        exitCode: 3,
        startTime: "2026-07-06T12:00:00.010500Z",
        endTime: "2026-07-06T12:00:02.000000Z",
      },
    ],
  });
  for (const field of ["assignedPod", "assignedPodUID", "startTime", "exitCode", "completionTime"]) {
    expect(back).not.toHaveProperty(field);
  }
});

test("nobody places a Run before its back-off is over", () => {
  const back = after(running, fail({ retry: retry({ maxAttempts: 3 }) }));
  expect(changes(back, { ...assign, now: t0 + 2999 })).toBe(false);
  expect(changes(back, { ...assign, now: t0 + 3000 })).toBe(true);
});

const delays: Record<string, { attempt: number; backoffMs: number; want: string }> = {
  "the first failure waits for the back-off": { attempt: 1, backoffMs: 1000, want: "2026-07-06T12:00:03.000000Z" },
  "the third for four times as long": { attempt: 3, backoffMs: 1000, want: "2026-07-06T12:00:06.000000Z" },
  "and none for longer than a minute": { attempt: 9, backoffMs: 1000, want: "2026-07-06T12:01:02.000000Z" },
};

test.each(Object.entries(delays))("%s", (_, { attempt, backoffMs, want }) => {
  const status = { ...running, attempt };
  expect(after(status, fail({ retry: retry({ maxAttempts: 99, backoffMs }) })).nextAttemptTime).toBe(want);
});

const ends: Record<string, { event: RunEvent; phase: RunStatus["phase"] }> = {
  "a failure without another attempt is Failed": { event: fail(), phase: "Failed" },
  "a timeout without another attempt is Timeout": { event: fail({ reason: "Timeout" }), phase: "Timeout" },
  "a timeout with another attempt is retried": {
    event: fail({ reason: "Timeout", retry: retry({ maxAttempts: 2 }) }),
    phase: "Pending",
  },
  "outputs that break a limit are final whatever the policy says": {
    event: fail({ reason: "OutputsTooLarge", retry: retry({ maxAttempts: 9, reasons: ["OutputsTooLarge"] }) }),
    phase: "Failed",
  },
  "a reason that the policy does not list is final": {
    event: fail({ retry: retry({ maxAttempts: 9, reasons: ["Timeout"] }) }),
    phase: "Failed",
  },
  "a reason that the policy lists is retried": {
    event: fail({ retry: retry({ maxAttempts: 9, reasons: ["ExitNonZero"] }) }),
    phase: "Pending",
  },
  "a lost Pod is retried like a failure": {
    event: {
      type: "POD_LOST",
      reason: "PodDeleted",
      message: "gone",
      retry: retry({ maxAttempts: 2 }),
      now: t0 + 2000,
    },
    phase: "Pending",
  },
  "a lost Pod without another attempt is Failed": {
    event: { type: "POD_LOST", reason: "NodeLost", message: "silent", retry: retry(), now: t0 + 2000 },
    phase: "Failed",
  },
  "a deleted Runtime is final": {
    event: { type: "POD_LOST", reason: "RuntimeDeleted", message: "gone", retry: retry({ maxAttempts: 9 }), now: t0 },
    phase: "Failed",
  },
};

test.each(Object.entries(ends))("%s", (_, { event, phase }) => {
  expect(after(running, event).phase).toBe(phase);
});

test("a Run whose Runtime goes is Failed only if it had been placed", () => {
  const event: RunEvent = { type: "RUNTIME_DELETED", message: "Runtime bash was deleted", now: t0 };
  expect(changes(undefined, event)).toBe(false);
  expect(after(after(scheduled, { type: "TAKE_BACK", now: t0 }), event)).toMatchObject({
    phase: "Failed",
    reason: "RuntimeDeleted",
  });
});

test("a Run that is cancelled while it backs off has no duration and no due time", () => {
  const back = after(running, fail({ retry: retry({ maxAttempts: 2 }) }));
  const cancelled = after(back, { type: "CANCEL", message: "cancelled by its owner", now: t0 + 2500 });
  expect(cancelled).toMatchObject({ phase: "Cancelled", reason: "Cancelled", attempt: 1 });
  expect(cancelled).not.toHaveProperty("nextAttemptTime");
  expect(cancelled).not.toHaveProperty("duration");
  expect(cancelled.conditions?.map(({ type, status }) => [type, status])).toEqual([
    ["Succeeded", "False"],
    ["Finished", "True"],
  ]);
});

test("the history keeps the latest ten attempts", () => {
  const attempts = Array.from({ length: 10 }, (_, index) => ({ number: index + 1 }));
  const back = after({ ...running, attempt: 11, attempts }, fail({ retry: retry({ maxAttempts: 99 }) }));
  expect(back.attempts?.map((each) => each.number)).toEqual([2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
});

test("an ended Run answers no event", () => {
  const done = after(running, fail());
  for (const event of [assign, { type: "CLAIM", now: t0 } as const, fail({ retry: retry({ maxAttempts: 9 }) })]) {
    expect(changes(done, event)).toBe(false);
  }
});
