// @vitest-environment jsdom
// Mermaid sanitises labels with a DOM, which it looks for when it is loaded.
import mermaidApi from "mermaid";
import { expect, test } from "vitest";
import { lifecycle, lifecycles } from "../index.ts";
import { type ChartModel, describe, type TransitionModel } from "./describe.ts";
import { diffCharts } from "./diff.ts";
import { diffMermaid } from "./diff-mermaid.ts";

const run = describe(lifecycle("run").machine);

/** The chart of a Run with changed transitions. */
function changed(by: (transition: TransitionModel) => TransitionModel | undefined): ChartModel {
  return { ...run, transitions: run.transitions.map(by).filter((each) => each !== undefined) };
}

const of = (id: string, change: Partial<TransitionModel>) =>
  changed((each) => (each.id === id ? { ...each, ...change } : each));

const cases: Record<string, { after: ChartModel; want: string[] }> = {
  "nothing has changed": { after: run, want: [] },
  "a transition is gone": {
    after: changed((each) => (each.event === "HAND_BACK" ? undefined : each)),
    want: ["removed transition Scheduled HAND_BACK"],
  },
  "a transition leads somewhere else": {
    after: of("Scheduled POD_LOST", { to: "Failed" }),
    want: ["altered transition Scheduled POD_LOST (to: Pending -> Failed)"],
  },
  "a transition has another writer and another reason": {
    after: of("Scheduled CLAIM", { writers: ["controller"], reasons: ["NodeLost"] }),
    want: ["altered transition Scheduled CLAIM (writers: agent -> controller; reasons: nothing -> NodeLost)"],
  },
  "branches change places": {
    after: {
      ...run,
      transitions: run.transitions.toSorted((a, b) =>
        a.event === "FAIL" && b.event === "FAIL" ? ((a.guard ?? "~") > (b.guard ?? "~") ? 1 : -1) : 0,
      ),
    },
    want: [
      "altered transition Running FAIL [ranOutOfTime] (tried after: retryAllowed -> nothing)",
      "altered transition Running FAIL [retryAllowed] (tried after: nothing -> ranOutOfTime)",
      "altered transition Running FAIL (tried after: retryAllowed, ranOutOfTime -> ranOutOfTime, retryAllowed)",
    ],
  },
  "a state is new, and another one ends": {
    after: {
      ...run,
      states: [
        ...run.states.map((state) => (state.name === "Running" ? { ...state, tags: ["terminal"] } : state)),
        { name: "Paused", description: "Rests.", tags: [] },
      ],
    },
    want: ["altered state Running (tags: nothing -> terminal)", "added state Paused"],
  },
  "a guard decides in another way": {
    after: {
      ...run,
      guards: run.guards.map((guard) => (guard.name === "isDue" ? { ...guard, condition: "() => true" } : guard)),
    },
    want: ["altered guard isDue"],
  },
};

test.each(Object.entries(cases))("%s", (_, { after, want }) => {
  const found = diffCharts([run], [after]).flatMap(({ differences }) =>
    differences.map(({ change, kind, name, details }) => {
      const more = details.length === 0 || kind === "guard" ? "" : ` (${details.join("; ")})`;
      return `${change} ${kind} ${name}${more}`;
    }),
  );
  expect(found.sort()).toEqual([...want].sort());
});

test("charts that come and go are whole differences", () => {
  const step = describe(lifecycle("step").machine);
  const summary = diffCharts([run], [step]).map(({ chart, differences }) => [chart, differences[0]?.change]);
  expect(summary).toEqual([
    ["step", "added"],
    ["run", "removed"],
  ]);
});

test("the drawing colours what was added green and what was removed red", () => {
  const text = diffMermaid(diffCharts([run], [of("Scheduled POD_LOST", { to: "Failed" })]));
  const links = text.split("\n").filter((line) => line.includes("|"));
  const styled = (part: string) => {
    const index = links.findIndex((line) => line.includes(part));
    return text.split("\n").find((line) => line.startsWith(`  linkStyle ${index} `));
  };
  expect(styled('c0_Scheduled -->|"POD_LOST"| c0_Failed')).toContain("#1a7f37");
  expect(styled('c0_Scheduled -.->|"POD_LOST"| c0_Pending')).toContain("#cf222e");
  expect(styled('c0_Scheduled -->|"CLAIM"| c0_Running')).toContain("#8b949e");
});

const whole = lifecycles.map(({ machine }) => describe(machine));
test.each([
  ["every chart is new", diffCharts([], whole)],
  ["every chart is gone", diffCharts(whole, [])],
  ["one transition is altered", diffCharts([run], [of("Pending WAIT", { writers: ["controller"] })])],
])("Mermaid reads the drawing when %s", async (_, diffs) => {
  await expect(mermaidApi.parse(diffMermaid(diffs))).resolves.toMatchObject({ diagramType: "flowchart-v2" });
});
