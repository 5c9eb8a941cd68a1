import { expect, test } from "vitest";
import type { Run } from "#api/kinds/run.ts";
import type { RunEvent } from "#machines/run.ts";
import { type Intent, observe } from "./observe.ts";
import { makeRun } from "./testing/builders.ts";

const now = Date.UTC(2026, 0, 1, 12);
const assign: Intent = { kind: "assign", pod: "p", podUID: "u" };
const wait: Intent = { kind: "wait", reason: "NoReadyPods", message: "m" };
const stop = { termination: { mode: "Immediate", message: "enough" } } as const;
const scheduled = (epoch: number) => makeRun("a", { status: { phase: "Scheduled", assignmentEpoch: epoch } });
const cancel: RunEvent = { type: "CANCEL", message: "enough", now };

const cases: Record<string, { run: Run; intent: Intent; want: RunEvent | undefined }> = {
  "O2: a Pending Run is assigned": {
    run: makeRun("a"),
    intent: assign,
    want: { type: "ASSIGN", pod: "p", podUID: "u", now },
  },
  "O3: a Pending Run is told why it waits": {
    run: makeRun("a"),
    intent: wait,
    want: { type: "WAIT", reason: "NoReadyPods", message: "m", now },
  },
  "O1: termination that came meanwhile wins over the assignment": {
    run: makeRun("a", { spec: stop }),
    intent: assign,
    want: cancel,
  },
  "O1: termination cancels": { run: makeRun("a", { spec: stop }), intent: { kind: "cancel" }, want: cancel },
  "O1: invalid requests fail": {
    run: makeRun("a", { requests: { runs: -1 } }),
    intent: { kind: "invalid" },
    want: {
      type: "INVALID",
      reason: "InvalidResources",
      message: "spec.resources.requests.runs is -1; write whole numbers of 0 or more",
      now,
    },
  },
  "O2: a Run that is being deleted is not assigned": {
    run: makeRun("a", { deleting: true }),
    intent: assign,
    want: undefined,
  },
  "O2: a Run that backs off is not assigned": {
    run: makeRun("a", { status: { nextAttemptTime: new Date(now + 1).toISOString() } }),
    intent: assign,
    want: undefined,
  },
  "O4: an unclaimed assignment is taken back": {
    run: scheduled(3),
    intent: { kind: "takeBack", epoch: 3 },
    want: { type: "TAKE_BACK", now },
  },
  "O4: a later assignment is not": { run: scheduled(4), intent: { kind: "takeBack", epoch: 3 }, want: undefined },
  "O5: a Run that was placed is not placed again": { run: scheduled(1), intent: assign, want: undefined },
  "O5: a claimed Run is left alone": {
    run: makeRun("a", { status: { phase: "Running", assignmentEpoch: 3 } }),
    intent: { kind: "takeBack", epoch: 3 },
    want: undefined,
  },
  "O5: a Run that has ended is left alone": {
    run: makeRun("a", { status: { phase: "Failed" }, spec: stop }),
    intent: { kind: "cancel" },
    want: undefined,
  },
  "O5: a cancellation without termination is none": { run: makeRun("a"), intent: { kind: "cancel" }, want: undefined },
};

test.each(Object.entries(cases))("%s", (_, { run, intent, want }) => {
  expect(observe(run, intent, now)).toEqual(want);
});
