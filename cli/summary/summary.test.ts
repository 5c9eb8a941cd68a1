import { expect, test } from "vitest";
import type { Run } from "#api/kinds/run.ts";
import { aRun, aStepRun, aWorkflowRun, start } from "../testing/objects.ts";
import { summaryLines } from "./summary.ts";

const options = { now: start, color: false, orderOf: () => undefined };
const tails = (byUid: Record<string, string[]>) => ({ of: (uid: string) => byUid[uid] ?? [] });

test("what went well is a tree, and nothing else", () => {
  const view = {
    workflowRuns: [aWorkflowRun("ci-1", {}, "Succeeded")],
    runs: [aRun("a", { phase: "Succeeded" })],
    waits: [],
  };
  expect(summaryLines(view, view.runs, tails({ "uid-a": ["a warning"] }), options)).toEqual([
    "✔ ci-1  Succeeded",
    "✔ a  Succeeded",
  ]);
});

const failures: Record<string, { run: Run; stderr: string[]; want: string[] }> = {
  "a message that quotes stderr needs no repetition": {
    run: aRun("a", { phase: "Failed", reason: "ExitNonZero", message: "exit code 1: one\ntwo" }),
    stderr: ["one", "two", ""],
    want: ["a failed: ExitNonZero: The program ended with an exit code other than 0. Read the logs of the Run."],
  },
  "where it does not, the last lines are shown": {
    run: aRun("a", { phase: "Timeout", reason: "Timeout", message: "the attempt ran longer than 1s" }),
    stderr: ["still\u0007 waiting"],
    want: [
      "a failed: Timeout: The attempt ran longer than its timeout. Raise the timeout or make the program faster.",
      "  last lines on stderr:",
      "    still\\u0007 waiting",
    ],
  },
  "a step is called by its job": {
    run: aStepRun("ci-1", "build", "test", { phase: "Failed", reason: "ArtifactInvalid", message: "m" }),
    stderr: [],
    want: [expect.stringMatching(/^build\/test failed: ArtifactInvalid: .+\. .+\.$/)] as string[],
  },
  "a reason that nobody knows stands alone": {
    run: aRun("a", { phase: "Failed", reason: "toString" }),
    stderr: [],
    want: ["a failed: toString"],
  },
};

test.each(Object.entries(failures))("%s", (_, { run, stderr, want }) => {
  const view = { workflowRuns: [aWorkflowRun("ci-1", {}, "Failed")], runs: [], waits: [] };
  const lines = summaryLines(view, [run], tails({ [run.metadata.uid ?? ""]: stderr }), options);
  expect(lines).toEqual(["✖ ci-1  Failed", "", ...want]);
});

test("failures are red where there are colors", () => {
  const run = aRun("a", { phase: "Failed", reason: "x" });
  const lines = summaryLines({ workflowRuns: [], runs: [run], waits: [] }, [run], tails({}), {
    ...options,
    color: true,
  });
  expect(lines.at(-1)).toBe("\u001b[31ma failed: x\u001b[0m");
});
