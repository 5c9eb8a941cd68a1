import { expect, test } from "vitest";
import { runs, runtimes, workflowRuns } from "#api/resources.ts";
import { bareName, kindCalled } from "./object-name.ts";

test("a name may have its kind before it, as kubectl and -o name write it", () => {
  for (const text of ["a", "run/a", "runs/a", "rn/a", "Run/a", "run.kruntimes.io/a", "runs.kruntimes.io/a"]) {
    expect(bareName(runs, text)).toBe("a");
  }
  expect(bareName(workflowRuns, "wfr/a")).toBe("a");
  expect(bareName(runtimes, "rt/a")).toBe("a");
});

test("what names another kind, or nothing, stays as it is", () => {
  for (const text of ["wfr/a", "pod/a", "run/", "/a", "a/b/c"]) expect(bareName(runs, text)).toBe(text);
});

test("a word that is a kind is known", () => {
  expect(kindCalled("runs")).toBe("Run");
  expect(kindCalled("wfr")).toBe("WorkflowRun");
  expect(kindCalled("Workflows")).toBe("Workflow");
  expect(kindCalled("toString")).toBeUndefined();
  expect(kindCalled("pods")).toBeUndefined();
});
