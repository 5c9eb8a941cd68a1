import { expect, test } from "vitest";
import { assign, emit, setup } from "xstate";
import { maxSteps, settle, step, UnsettledError } from "./settle.ts";

const counter = setup({
  types: {
    context: {} as { count: number },
    events: {} as { type: "ADD"; by: number } | { type: "ASK" } | { type: "NOTHING" },
    emitted: {} as { type: "added"; count: number } | { type: "asked" },
  },
}).createMachine({
  id: "counter",
  context: { count: 0 },
  initial: "Open",
  states: {
    Open: {
      on: {
        ADD: {
          guard: ({ context, event }) => context.count + event.by <= 100,
          actions: [
            assign(({ context, event }) => ({ count: context.count + event.by })),
            emit(({ context }) => ({ type: "added", count: context.count })),
          ],
        },
        ASK: { actions: emit({ type: "asked" }) },
      },
    },
  },
});

const add = { type: "ADD", by: 1 } as const;
const ask = { type: "ASK" } as const;
const start = counter.resolveState({ value: "Open", context: { count: 0 } });

test("it goes on until the observer has no event, and gathers the effects in order", () => {
  const settled = settle({
    machine: counter,
    snapshot: start,
    observe: ({ context }) => (context.count < 3 ? add : undefined),
  });
  expect(settled.snapshot.context.count).toBe(3);
  expect(settled.effects).toEqual([1, 2, 3].map((count) => ({ type: "added", count })));
  expect(settled.changed).toBe(true);
});

test("an observer that is content changes nothing", () => {
  const settled = settle({ machine: counter, snapshot: start, observe: () => undefined });
  expect(settled).toEqual({ snapshot: start, effects: [], changed: false });
  expect(settled.snapshot).toBe(start);
});

test("an event that a guard refuses ends the pass with the same reference", () => {
  const settled = settle({ machine: counter, snapshot: start, observe: () => ({ ...add, by: 101 }) });
  expect(settled.snapshot).toBe(start);
  expect(settled.changed).toBe(false);
});

test("an event without a transition changes nothing", () => {
  expect(step(counter, start, { type: "NOTHING" })).toEqual({ snapshot: start, effects: [], changed: false });
});

test("an event that only asks for something is asked once, and the status is not written", () => {
  const settled = settle({ machine: counter, snapshot: start, observe: () => ask });
  expect(settled).toEqual({ snapshot: start, effects: [{ type: "asked" }], changed: false });
});

test("an observer that never ends is reported with its events", () => {
  const run = () => settle({ machine: counter, snapshot: start, observe: () => add });
  expect(run).toThrow(UnsettledError);
  expect(run).toThrow(/the counter machine does not settle: (ADD, ){8}ADD;/);
});

test("as many events as are allowed are no error", () => {
  const settled = settle({
    machine: counter,
    snapshot: start,
    observe: ({ context }) => (context.count < maxSteps ? add : undefined),
  });
  expect(settled.snapshot.context.count).toBe(maxSteps);
});

test("the snapshot that comes in is never changed", () => {
  const frozen = counter.resolveState({ value: "Open", context: Object.freeze({ count: 0 }) });
  step(counter, frozen, add);
  expect(frozen.context.count).toBe(0);
});
