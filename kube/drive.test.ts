import { expect, test } from "vitest";
import { type Drive, drive } from "#kube/drive.ts";
import { after, done, type Outcome } from "#kube/outcome.ts";
import { failure, StatusError } from "#kube/transport.ts";
import { VirtualClock } from "#kube/virtual-clock.ts";

interface Seen {
  readonly phase: string;
}

const problem = (code: number, reason: string) => new StatusError(failure(code, reason, reason));

function setup(overrides: Partial<Drive<Seen, string, string>> = {}, signal?: AbortSignal) {
  const calls: string[] = [];
  const shape: Drive<Seen, string, string> = {
    gather: () => ({ phase: "Pending" }),
    step: () => ({ changed: true, status: "Running", effects: ["start", "tell"] }),
    persist: async (seen, status) => {
      calls.push(`persist ${seen.phase} > ${status}`);
    },
    run: async (effect) => {
      calls.push(`run ${effect}`);
    },
    nextWake: (status) => after(1000, status),
    ...overrides,
  };
  return { calls, outcome: drive(shape, new VirtualClock(5000), signal) };
}

const cases: Record<
  string,
  { shape: Partial<Drive<Seen, string, string>>; calls: string[]; outcome: Outcome | { kind: "retry" } }
> = {
  "one write, then the effects in order, then the wait": {
    shape: {},
    calls: ["persist Pending > Running", "run start", "run tell"],
    outcome: after(1000, "Running"),
  },
  "no write when nothing changed, but effects are derived again": {
    shape: { step: () => ({ changed: false, status: "Running", effects: ["start"] }) },
    calls: ["run start"],
    outcome: after(1000, "Running"),
  },
  "no such object: nothing to do": { shape: { gather: () => undefined }, calls: [], outcome: done },
  "a conflict throws everything away": {
    shape: { persist: () => Promise.reject(problem(409, "Conflict")) },
    calls: [],
    outcome: { kind: "retry" },
  },
  "deleted before the write: nothing to do": {
    shape: { persist: () => Promise.reject(problem(404, "NotFound")) },
    calls: [],
    outcome: done,
  },
  "the step sees the time of the clock": {
    shape: { step: (_, now) => ({ changed: true, status: String(now), effects: [] }) },
    calls: ["persist Pending > 5000"],
    outcome: after(1000, "5000"),
  },
};

test.each(Object.entries(cases))("%s", async (_, { shape, calls, outcome }) => {
  const driven = setup(shape);
  expect(await driven.outcome).toMatchObject(outcome);
  expect(driven.calls).toEqual(calls);
});

test("another error of the write is thrown, and no effect runs", async () => {
  const { calls, outcome } = setup({ persist: () => Promise.reject(problem(500, "InternalError")) });
  await expect(outcome).rejects.toMatchObject({ code: 500 });
  expect(calls).toEqual([]);
});

test("an effect that fails ends the pass with its error", async () => {
  const { calls, outcome } = setup({ run: () => Promise.reject(new Error("no")) });
  expect(await outcome).toMatchObject({ kind: "retry", error: { message: "no" }, withinMs: 1000 });
  expect(calls).toEqual(["persist Pending > Running"]);
});

test("with lanes, an effect that fails keeps back only its own lane", async () => {
  const calls: string[] = [];
  const { outcome } = setup({
    step: () => ({ changed: true, status: "Running", effects: ["a bad", "a next", "b fine"] }),
    lanes: { laneOf: (effect) => effect.split(" ")[0] ?? "", limit: 2 },
    run: async (effect) => {
      if (effect === "a bad") throw new Error("no");
      calls.push(effect);
    },
    nextWake: () => done,
  });
  expect(await outcome).toEqual({ kind: "retry", error: new Error("no") });
  expect(calls).toEqual(["b fine"]);
});

test("a pass that is aborted writes nothing", async () => {
  const stop = new AbortController();
  stop.abort(new Error("lease lost"));
  const { calls, outcome } = setup({}, stop.signal);
  expect(await outcome).toMatchObject({ kind: "retry", error: { message: "lease lost" } });
  expect(calls).toEqual([]);
});

test("a pass that is aborted after the write leaves the effects to the next one", async () => {
  const stop = new AbortController();
  const { calls, outcome } = setup({ persist: async () => stop.abort(new Error("lease lost")) }, stop.signal);
  expect(await outcome).toMatchObject({ kind: "retry" });
  expect(calls).toEqual([]);
});
