import { expect, test } from "vitest";
import { aRun, at, aWorkflowRun, start } from "../testing/objects.ts";
import { type FrameOptions, frame } from "./frame.ts";
import type { View } from "./view.ts";

const options: FrameOptions = { now: start + 5000, color: false, columns: 80, rows: 24, orderOf: () => undefined };

const view: View = {
  workflowRuns: [
    aWorkflowRun("ci-1", {
      build: {
        phase: "Running",
        startTime: at(1),
        reason: "WorkspaceNotBound",
        message: "job waits",
        steps: [
          { name: "a", phase: "Running", startTime: at(1), reason: "WorkspaceNotBound", message: "step waits" },
          { name: "b", phase: "Waiting" },
        ],
      },
      test: {
        phase: "Failed",
        reason: "ArtifactMissing",
        message: "no artifact x",
        startTime: at(0),
        completionTime: at(1),
      },
    }),
  ],
  runs: [aRun("hello", { phase: "Running", startTime: at(3) })],
  waits: [{ label: "build/a", reason: "WorkspaceNotBound", text: "no Pod" }],
};

test("trees of workflows, Runs, and what waits for long", () => {
  expect(frame(view, options)).toEqual([
    "● ci-1  Running",
    "├─ ✖ test  Failed  1s",
    "│     ArtifactMissing: no artifact x",
    "└─ ● build  Running  4s",
    "   ├─ ● a  Running  4s",
    "   └─ · b  Waiting",
    "● hello  Running  2s",
    "build/a waits: WorkspaceNotBound: no Pod",
  ]);
});

test("jobs keep the places that the graph gives them", () => {
  const lines = frame(view, { ...options, orderOf: (name) => (name === "ci-1" ? ["build", "test"] : undefined) });
  expect(lines.filter((line) => /^[├└]/.test(line)).map((line) => line.split(" ")[2])).toEqual(["build", "test"]);
});

test("no line reaches the last column", () => {
  for (const line of frame(view, { ...options, columns: 20 })) expect([...line].length).toBeLessThan(20);
});

test("a small terminal shows the end, and says what is missing", () => {
  expect(frame(view, { ...options, rows: 5 })).toEqual([
    "… 5 more lines above",
    "   └─ · b  Waiting",
    "● hello  Running  2s",
    "build/a waits: WorkspaceNotBound: no Pod",
  ]);
  expect(frame(view, { ...options, rows: 1, columns: 1 })).toHaveLength(1);
});

test("waits are colored where colors are wanted", () => {
  expect(frame(view, { ...options, color: true }).at(-1)).toBe(
    "\u001b[33mbuild/a waits: WorkspaceNotBound: no Pod\u001b[0m",
  );
});
