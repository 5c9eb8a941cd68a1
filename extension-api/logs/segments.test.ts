import { expect, test } from "vitest";
import type { RunStatus } from "#api/kinds/run.ts";
import { isOver, type Segment, segmentsOf } from "./segments.ts";

const run = (status: RunStatus) => ({ metadata: { name: "a" }, spec: { runtime: "bash" }, status });
const past = (pod: string, from: number, to = from): Partial<Segment> => ({ pod, from, to, assigned: false });
const now = (pod: string, from: number, to = from): Partial<Segment> => ({ pod, from, to, assigned: true });
const one = { number: 1, pod: "p1" };
const two = { number: 2, pod: "p2" };

const cases: Record<string, { status: RunStatus; want: Partial<Segment>[]; only?: number }> = {
  "a Run that waits has no log": { status: { phase: "Pending" }, want: [] },
  "an assigned Run will begin its attempt": {
    status: { phase: "Scheduled", attempt: 0, assignedPod: "p1" },
    want: [now("p1", 1)],
  },
  "a running Run": { status: { phase: "Running", attempt: 1, assignedPod: "p1" }, want: [now("p1", 1)] },
  "an attempt that is over stays where it was": {
    status: { phase: "Pending", attempt: 1, attempts: [one] },
    want: [past("p1", 1)],
  },
  "attempts on several Pods": {
    status: { phase: "Running", attempt: 3, attempts: [one, two], assignedPod: "p1" },
    want: [past("p1", 1), past("p2", 2), now("p1", 3)],
  },
  "attempts in a row on one Pod are one segment": {
    status: { phase: "Scheduled", attempt: 2, attempts: [one, { number: 2, pod: "p1" }], assignedPod: "p1" },
    want: [now("p1", 1, 3)],
  },
  "attempts that the status has forgotten are looked for on the first Pod it knows": {
    status: { phase: "Running", attempt: 8, attempts: [{ number: 7, pod: "p7" }], assignedPod: "p8" },
    want: [past("p7", 1, 7), now("p8", 8)],
  },
  "only one attempt": {
    status: { phase: "Running", attempt: 3, attempts: [one, two], assignedPod: "p3" },
    want: [past("p2", 2)],
    only: 2,
  },
};

test.each(Object.entries(cases))("%s", (_, { status, want, only }) => {
  expect(segmentsOf(run(status), only)).toEqual(want.map((segment) => expect.objectContaining(segment)));
});

const t1 = "2026-01-01T00:00:01.000000Z";
const t2 = "2026-01-01T00:00:02.000000Z";
const ms = 1_767_225_600_000;
const starts: Record<string, { status: RunStatus; want: (number | undefined)[]; only?: number }> = {
  "of a running attempt": {
    status: { phase: "Running", attempt: 1, assignedPod: "p1", startTime: t1 },
    want: [ms + 1000],
  },
  "of attempts in a row the first counts": {
    status: { phase: "Running", attempt: 2, attempts: [{ ...one, startTime: t1 }], assignedPod: "p1", startTime: t2 },
    want: [ms + 1000],
  },
  "of the second alone its own is not known from the first": {
    status: { phase: "Running", attempt: 2, attempts: [{ ...one, startTime: t1 }], assignedPod: "p1", startTime: t2 },
    only: 2,
    want: [undefined],
  },
  "before its claim an attempt has none": {
    status: { phase: "Scheduled", attempt: 1, attempts: [one], assignedPod: "p2", startTime: t1 },
    want: [undefined, undefined],
  },
  "of attempts that the status has forgotten none is known": {
    status: { phase: "Pending", attempt: 7, attempts: [{ number: 7, pod: "p7", startTime: t1 }] },
    want: [undefined],
  },
};

test.each(Object.entries(starts))("the start: %s", (_, { status, want, only }) => {
  expect(segmentsOf(run(status), only).map(({ startedMs }) => startedMs)).toEqual(want);
});

const ends: Record<string, { status: RunStatus; only?: number; want: boolean }> = {
  "a running Run goes on": { status: { phase: "Running", attempt: 1 }, want: false },
  "a Run between attempts goes on": { status: { phase: "Pending", attempt: 1, attempts: [one] }, want: false },
  "an ended Run is over": { status: { phase: "Timeout", attempt: 1 }, want: true },
  "an attempt that is in the history is over": {
    status: { phase: "Pending", attempt: 1, attempts: [one] },
    only: 1,
    want: true,
  },
  "an attempt after which another runs is over": { status: { phase: "Running", attempt: 20 }, only: 3, want: true },
  "an attempt that runs goes on": { status: { phase: "Running", attempt: 2, attempts: [one] }, only: 2, want: false },
  "an attempt to come goes on": { status: { phase: "Running", attempt: 2 }, only: 3, want: false },
};

test.each(Object.entries(ends))("%s", (_, { status, only, want }) => {
  expect(isOver(run(status), only)).toBe(want);
});
