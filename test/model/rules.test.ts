import { expect, test } from "vitest";
import { workspacePhases } from "#api/kinds/persistent-workspace.ts";
import { runPhases } from "#api/kinds/run.ts";
import { workflowRunPhases } from "#api/kinds/workflow-run.ts";
import { compileCel } from "#local/apiserver/cel/compile.ts";
import { CelError } from "#local/apiserver/cel/errors.ts";
import { type CelType, int, optionalOf, string } from "#local/apiserver/cel/types.ts";
import { Optional } from "#local/apiserver/cel/values.ts";
import type { ChartModel } from "#machines/lib/describe.ts";
import { transitionRule } from "#machines/lib/transition-rules.ts";
import { statusRules } from "#machines/status-rules.ts";
import { modelled } from "./models.ts";
import { Replay } from "./replay.ts";
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
] as const;

test.each(kinds)(
  "for every pair of phases of $kind, the rule says what the machine really does",
  ({ kind, chart, phases }) => {
    const each = modelled.find(({ name }) => name === chart);
    if (each === undefined) throw new RangeError(chart);
    // From every phase, in whatever way it was reached, all phases that events lead to: no model is consulted.
    const reached = new Set<string>();
    const replay = new Replay(each);
    const starts = [each.initial(), ...(each.walk.starts ?? [])];
    const paths = coveringPaths(each.machine, each.walk, starts);
    for (const { start, prefix, tails } of paths) {
      const passed = new Set([String(start.value)]);
      let snapshot = start;
      for (const event of prefix) {
        snapshot = replay.step(snapshot, event);
        passed.add(String(snapshot.value));
      }
      for (const tail of tails) {
        const to = String(replay.step(snapshot, tail).value);
        for (const from of passed) reached.add(`${from} ${to}`);
      }
    }
    // Several of these moves in a row may stand in one write.
    for (let size = 0; size !== reached.size; ) {
      size = reached.size;
      const pairs = [...reached].map((pair) => pair.split(" "));
      for (const [a, b] of pairs) for (const [c, d] of pairs) if (b === c) reached.add(`${a} ${d}`);
    }
    const admits = evaluator(statusRules()[kind].rule);
    for (const from of phases) {
      for (const to of phases) {
        expect(admits({ phase: from }, { phase: to }), `${from} -> ${to}`).toBe(reached.has(`${from} ${to}`));
      }
    }
  },
);

test.each(kinds)("a status of $kind begins as Pending", ({ kind, phases }) => {
  const admits = evaluator(statusRules()[kind].rule);
  for (const phase of phases) expect(admits(undefined, { phase }), phase).toBe(phase === "Pending");
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
