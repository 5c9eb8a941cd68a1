import { expect, test } from "vitest";
import { lifecycles } from "../index.ts";
import { type ChartModel, describe, type TransitionModel } from "./describe.ts";
import { transitionRule, transitionTable } from "./transition-rules.ts";
import { movesByWriter } from "./writers.ts";

function edge(from: string, to: string, more: Partial<TransitionModel> = {}): TransitionModel {
  const plain = {
    event: "GO",
    description: "",
    writers: ["controller"],
    reasons: [],
    effects: [],
    reopens: false,
  } as const;
  return { ...plain, id: `${from} GO ${to}`, from, to, moves: from !== to, ...more };
}

/** A chart that can be opened again, as workflows will be by a Retry. */
const reopening: ChartModel = {
  guards: [],
  name: "reopening",
  description: "",
  initial: "Pending",
  states: ["Pending", "Running", "Failed"].map((name) => ({ name, description: "", tags: [] })),
  transitions: [
    edge("Pending", "Running", { writers: ["scheduler"] }),
    edge("Running", "Failed", { writers: ["scheduler", "controller"] }),
    edge("Running", "Running"),
    edge("Failed", "Running", { reopens: true, writers: ["user"] }),
  ],
};

test("what is reached without reopening is admitted, and a phase may stay as it is", () => {
  expect(transitionTable(reopening)).toEqual({
    initial: "Pending",
    moves: { Pending: ["Pending", "Running", "Failed"], Running: ["Running", "Failed"], Failed: ["Failed"] },
    reopens: { Failed: ["Running"] },
  });
});

test("the rule has the form that the API server was tried with", () => {
  expect(transitionRule(reopening)).toEqual({
    rule:
      "!oldSelf.hasValue() ? self.phase == 'Pending' : self.phase in {'Pending': ['Pending', 'Running', 'Failed'], " +
      "'Running': ['Running', 'Failed'], 'Failed': ['Failed']}[oldSelf.value().phase] || " +
      "(oldSelf.value().phase in {'Failed': ['Running']} && self.phase in {'Failed': ['Running']}[oldSelf.value().phase] " +
      "&& self.attempt == oldSelf.value().attempt + 1)",
    message: "phase may only move along the reopening statechart (docs/statecharts/reopening.md)",
    fieldPath: ".phase",
    reason: "FieldValueForbidden",
    optionalOldSelf: true,
  });
});

test("without a reopening edge the rule has no term for it", () => {
  const closed = { ...reopening, transitions: reopening.transitions.filter((each) => !each.reopens) };
  expect(transitionRule(closed).rule).not.toContain("attempt");
});

test("a writer moves along its own edges only", () => {
  expect(movesByWriter(reopening)).toEqual({
    scheduler: { Pending: ["Pending", "Running", "Failed"], Running: ["Running", "Failed"], Failed: ["Failed"] },
    controller: { Pending: ["Pending"], Running: ["Running", "Failed"], Failed: ["Failed"] },
    user: { Pending: ["Pending"], Running: ["Running"], Failed: ["Failed"] },
  });
});

test("a state whose name is no word cannot get into a rule", () => {
  const states = [{ name: "It's", description: "", tags: [] }];
  expect(() => transitionRule({ ...reopening, states })).toThrow(`"It's" is no state name`);
});

/** Reachability once more, by repeated composition of the relation instead of a search. */
function closure(model: ChartModel): Set<string> {
  const pairs = new Set(model.states.map(({ name }) => `${name} ${name}`));
  for (let size = 0; size !== pairs.size; ) {
    size = pairs.size;
    for (const pair of [...pairs]) {
      const [from, middle] = pair.split(" ");
      for (const each of model.transitions) if (each.from === middle && !each.reopens) pairs.add(`${from} ${each.to}`);
    }
  }
  return pairs;
}

test.each(lifecycles)("for every pair of phases of $name, chart and table agree", ({ machine }) => {
  const model = describe(machine);
  const reached = closure(model);
  const { moves } = transitionTable(model);
  for (const { name: from } of model.states) {
    for (const { name: to } of model.states) {
      expect(moves[from]?.includes(to), `${from} -> ${to}`).toBe(reached.has(`${from} ${to}`));
    }
  }
});
