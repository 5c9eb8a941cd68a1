import { expect, test } from "vitest";
import type { AnyMachineSnapshot } from "xstate";
import { workspacePhases } from "#api/kinds/persistent-workspace.ts";
import { workflowActionPhases } from "#api/kinds/workflow-action.ts";
import { runPhases } from "#api/run-phases.ts";
import { workflowRunPhases } from "#api/workflow-phases.ts";
import { compileCel } from "#local/apiserver/cel/compile.ts";
import { CelError } from "#local/apiserver/cel/errors.ts";
import { type CelType, int, optionalOf, string } from "#local/apiserver/cel/types.ts";
import { Optional } from "#local/apiserver/cel/values.ts";
import { type ChartModel, describe } from "#machines/lib/describe.ts";
import { step } from "#machines/lib/settle.ts";
import { transitionRule } from "#machines/lib/transition-rules.ts";
import { movesByWriter } from "#machines/lib/writers.ts";
import { statusRules } from "#machines/status-rules.ts";
import { modelled } from "./models.ts";
import { drawnTransition, Replay } from "./replay.ts";
import { coveringPaths } from "./walk.ts";

const status: CelType = {
  kind: "object",
  name: "object",
  fields: new Map([
    ["phase", { type: string, property: "phase" }],
    ["attempt", { type: int, property: "attempt" }],
  ]),
};

interface Part {
  readonly phase: string;
  readonly attempt?: number;
}

/** What the API server says to a write; a rule that cannot be evaluated refuses. */
function evaluator(rule: string): (before: Part | undefined, after: Part) => boolean {
  const program = compileCel(rule, { self: status, oldSelf: optionalOf(status) });
  return (before, after) => {
    try {
      return program.run([after, new Optional(before)]) === true;
    } catch (error) {
      if (error instanceof CelError) return false;
      throw error;
    }
  };
}

const kinds = [
  { kind: "Run", chart: "run", phases: runPhases },
  { kind: "PersistentWorkspace", chart: "persistent-workspace", phases: workspacePhases },
  { kind: "WorkflowRun", chart: "workflow-run", phases: workflowRunPhases },
  { kind: "WorkflowAction", chart: "workflow-action", phases: workflowActionPhases },
] as const;

test.each(kinds)(
  "for every pair of phases of $kind, the rule says what the machine really does",
  ({ kind, chart, phases }) => {
    const each = modelled.find(({ name }) => name === chart);
    if (each === undefined) throw new RangeError(chart);
    // From every phase, in whatever way it was reached, all phases that events lead to: no model is consulted.
    const reached = new Set<string>();
    const starts = [each.initial(), ...(each.walk.starts ?? [])];
    const paths = coveringPaths(each.machine, each.walk, starts);
    for (const { start, prefix, tails } of paths) {
      const passed = new Set([String(start.value)]);
      let snapshot = start;
      for (const event of prefix) {
        const before = snapshot;
        snapshot = step(each.machine, before, event).snapshot;
        // Another attempt is judged by its number, not by where the one before was.
        if (isReopened(before, snapshot)) passed.clear();
        passed.add(String(snapshot.value));
      }
      for (const tail of tails) {
        const after = step(each.machine, snapshot, tail).snapshot;
        const to = String(after.value);
        if (isReopened(snapshot, after)) continue;
        for (const from of passed) reached.add(`${from} ${to}`);
      }
    }
    // A write may also leave the phase as it is.
    for (const state of Object.keys(each.machine.states)) reached.add(`${state} ${state}`);
    const together = closure(reached);
    const admits = evaluator(statusRules()[kind].rule);
    for (const from of phases) {
      for (const to of phases) {
        expect(admits({ phase: from }, { phase: to }), `${from} -> ${to}`).toBe(together.has(`${from} ${to}`));
      }
    }
  },
);

test.each(modelled)(
  "for every pair of phases and every writer of $name, the table says what its moves really come to",
  (each) => {
    // By writer, the moves that the machine made and that the oracle, not the chart, knows to be that writer's.
    const made = new Map<string, Set<string>>();
    const replay = new Replay(each);
    const note = (before: AnyMachineSnapshot, event: { readonly type: string }) => {
      const { snapshot: after, effects } = step(each.machine, before, event);
      if (drawnTransition(each.machine, before, event) === undefined || isReopened(before, after)) return after;
      const [from, to] = [before, after].map((snapshot) => replay.statusOf(snapshot));
      if (from === undefined || to === undefined) throw new RangeError("unreachable");
      const types = effects.map((effect) => (effect as { type: string }).type);
      for (const writer of each.oracle.writersOf({ before: from, event, after: to, effects: types })) {
        made.set(writer, (made.get(writer) ?? new Set()).add(`${from.phase} ${to.phase}`));
      }
      return after;
    };
    const starts = [each.initial(), ...(each.walk.starts ?? [])];
    for (const { start, prefix, tails } of coveringPaths(each.machine, each.walk, starts)) {
      const end = prefix.reduce((snapshot, event) => note(snapshot, event), start);
      for (const tail of tails) note(end, tail);
    }
    const tables = movesByWriter(replay.chart);
    expect(Object.keys(tables).sort()).toEqual([...made.keys()].sort());
    const states = replay.chart.states.map(({ name }) => name);
    for (const [writer, moves] of Object.entries(tables)) {
      const pairs = closure(new Set([...(made.get(writer) ?? []), ...states.map((state) => `${state} ${state}`)]));
      for (const from of states) {
        for (const to of states) {
          expect(moves[from]?.includes(to), `${writer}: ${from} -> ${to}`).toBe(pairs.has(`${from} ${to}`));
        }
      }
    }
  },
);

/** Whether a move left the end. */
const isReopened = (before: AnyMachineSnapshot, after: AnyMachineSnapshot): boolean =>
  before.hasTag("terminal") && !after.hasTag("terminal");

/** Several moves in a row may stand in one write. */
function closure(pairs: ReadonlySet<string>): Set<string> {
  const all = new Set(pairs);
  for (let size = 0; size !== all.size; ) {
    size = all.size;
    const list = [...all].map((pair) => pair.split(" "));
    for (const [a, b] of list) for (const [c, d] of list) if (b === c) all.add(`${a} ${d}`);
  }
  return all;
}

test.each(kinds)("a status of $kind begins as Pending", ({ kind, phases }) => {
  const admits = evaluator(statusRules()[kind].rule);
  for (const phase of phases) expect(admits(undefined, { phase }), phase).toBe(phase === "Pending");
});

test("what the last release admitted is admitted by the rule, and what neither has is not", () => {
  const model = modelled.find(({ name }) => name === "run");
  if (model === undefined) throw new RangeError("run");
  const before = { initial: "Pending", moves: { Scheduled: ["Ready"], Ready: ["Running"] }, reopens: {} };
  const admits = evaluator(transitionRule(describe(model.machine), before).rule);
  expect(admits({ phase: "Scheduled" }, { phase: "Ready" })).toBe(true);
  expect(admits({ phase: "Ready" }, { phase: "Running" })).toBe(true);
  expect(admits({ phase: "Scheduled" }, { phase: "Running" })).toBe(true);
  expect(admits({ phase: "Ready" }, { phase: "Succeeded" })).toBe(false);
  expect(admits({ phase: "Running" }, { phase: "Ready" })).toBe(false);
});

test("a reopening edge is admitted exactly with the next attempt", () => {
  const edge = {
    event: "GO",
    description: "",
    reasons: [],
    effects: [],
    moves: true,
    writers: ["controller"],
  } as const;
  const chart: ChartModel = {
    guards: [],
    name: "sample",
    description: "",
    initial: "Pending",
    states: ["Pending", "Failed"].map((name) => ({ name, description: "", tags: [] })),
    transitions: [
      { ...edge, id: "1", from: "Pending", to: "Failed", reopens: false },
      { ...edge, id: "2", from: "Failed", to: "Pending", reopens: true },
    ],
  };
  const admits = evaluator(transitionRule(chart).rule);
  const failed = { phase: "Failed", attempt: 1 };
  expect(admits(failed, { phase: "Pending", attempt: 2 })).toBe(true);
  expect(admits(failed, { phase: "Pending", attempt: 1 })).toBe(false);
  expect(admits(failed, { phase: "Pending", attempt: 3 })).toBe(false);
  expect(admits(failed, { phase: "Failed", attempt: 1 })).toBe(true);
});
