import { expect, test } from "vitest";
import { assign, setup } from "xstate";
import { workspacePhases } from "#api/kinds/persistent-workspace.ts";
import { jobPhases, stepPhases } from "#api/kinds/workflow-run.ts";
import { reasons } from "#api/reasons.ts";
import { runPhases } from "#api/run-phases.ts";
import { workflowRunPhases } from "#api/workflow-phases.ts";
import { lifecycle, lifecycles } from "../index.ts";
import { describe, isTerminalState, UnsupportedChartError } from "./describe.ts";
import type { TransitionMeta } from "./meta.ts";

const base = setup({
  types: { transitionMeta: {} as TransitionMeta, context: {} as { n: number } },
  guards: { isOdd: ({ context }) => context.n % 2 === 1 },
});
const meta: TransitionMeta = { writer: "user" };
const description = "a sentence";

const unsupported: Record<string, { machine: Parameters<typeof describe>[0]; want: string }> = {
  "a transition without a writer": {
    machine: base.createMachine({
      id: "m",
      description,
      context: { n: 0 },
      initial: "A",
      states: { A: { description, on: { GO: { description } } } },
    }),
    want: "m: A GO names no writer",
  },
  "a transition without a description": {
    machine: base.createMachine({
      id: "m",
      description,
      context: { n: 0 },
      initial: "A",
      states: { A: { description, on: { GO: { meta } } } },
    }),
    want: "m: A GO has no description",
  },
  "a guard without a name": {
    machine: base.createMachine({
      id: "m",
      description,
      context: { n: 0 },
      initial: "A",
      states: {
        A: {
          description,
          on: {
            GO: [
              { guard: () => true, meta, description },
              { meta, description },
            ],
          },
        },
      },
    }),
    want: "m: A GO 1 has an unnamed guard",
  },
  "a state without a description": {
    machine: base.createMachine({ id: "m", description, context: { n: 0 }, initial: "A", states: { A: {} } }),
    want: "m: A has no description",
  },
  "a final state": {
    machine: base.createMachine({
      id: "m",
      description,
      context: { n: 0 },
      initial: "A",
      states: { A: { type: "final", description } },
    }),
    want: "m: A is final; states are atomic",
  },
  "a nested state": {
    machine: base.createMachine({
      id: "m",
      description,
      context: { n: 0 },
      initial: "A",
      states: { A: { description, initial: "B", states: { B: { description } } } },
    }),
    want: "m: A is compound; states are atomic",
  },
  "a transition without an event": {
    machine: base.createMachine({
      id: "m",
      description,
      context: { n: 0 },
      initial: "A",
      states: { A: { description, always: { target: "B", guard: "isOdd" } }, B: { description } },
    }),
    want: "m: A has `always`; transitions need an event",
  },
  "a timer": {
    machine: base.createMachine({
      id: "m",
      description,
      context: { n: 0 },
      initial: "A",
      states: { A: { description, after: { 1000: { target: "B" } } }, B: { description } },
    }),
    want: "m: A has timers or actors; charts are pure",
  },
  "an entry action": {
    machine: base.createMachine({
      id: "m",
      description,
      context: { n: 0 },
      initial: "A",
      states: { A: { description, entry: assign({ n: 1 }) } },
    }),
    want: "m: A has entry or exit actions",
  },
};

test.each(Object.entries(unsupported))(
  "%s is refused, since documents and rules would leave it out",
  (_, { machine, want }) => {
    expect(() => describe(machine)).toThrow(UnsupportedChartError);
    expect(() => describe(machine)).toThrow(want);
  },
);

test.each(lifecycles)("every reason of $name is in the registry", ({ machine }) => {
  const named = describe(machine).transitions.flatMap((transition) => transition.reasons);
  expect(named.filter((reason) => !(reason in reasons))).toEqual([]);
});

const phases: Record<string, readonly string[]> = {
  run: runPhases,
  "persistent-workspace": workspacePhases,
  "workflow-run": workflowRunPhases,
  job: jobPhases,
  step: stepPhases,
};

test.each(Object.entries(phases))("the states of %s are phases of its schema", (name, known) => {
  const states = describe(lifecycle(name).machine).states.map((state) => state.name);
  expect(states.filter((state) => !known.includes(state))).toEqual([]);
});

test.each(lifecycles)("nothing leaves a terminal state of $name", ({ machine }) => {
  const model = describe(machine);
  const leaving = model.transitions.filter((each) => each.moves && !each.reopens && isTerminalState(model, each.from));
  expect(leaving).toEqual([]);
});

test("branches of one event are told apart by their number", () => {
  const { transitions } = describe(lifecycle("run").machine);
  const fail = transitions.filter(({ event }) => event === "FAIL");
  expect(fail.map(({ id, guard, to }) => ({ id, guard, to }))).toEqual([
    { id: "Running FAIL 1", guard: "retryAllowed", to: "Pending" },
    { id: "Running FAIL 2", guard: "ranOutOfTime", to: "Timeout" },
    { id: "Running FAIL 3", guard: undefined, to: "Failed" },
  ]);
});

test("effects are found by the names of emitted actions", () => {
  const { transitions } = describe(lifecycle("step").machine);
  const replace = transitions.find(({ id }) => id === "Running REPLACE 1");
  expect(replace?.effects).toEqual(["deleteRun", "createRun"]);
});

test("a chart that is not listed is named with those that are", () => {
  expect(() => lifecycle("nonsense")).toThrow('no statechart "nonsense"; there are run, attempt');
});
