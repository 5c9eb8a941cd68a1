import { expect, test } from "vitest";
import { aRun, aStepRun, aWorkflowRun } from "../testing/objects.ts";
import { labelOf } from "./label.ts";

test("a step is called by its job and name, a Run by its own", () => {
  const step = aStepRun("ci-1", "build", "test", { phase: "Running" });
  expect(labelOf(step, false)).toBe("build/test");
  expect(labelOf(step, true)).toBe("ci-1 build/test");
  expect(labelOf(aRun("hello", undefined), true)).toBe("hello");
});

test("a step of a run that is a job of another one has the jobs that lead to it before its name", () => {
  const step = aStepRun("ci-1-call", "build", "test", { phase: "Running" });
  const { metadata } = aStepRun("ci-1", "call", "none", { phase: "Running" });
  const run = aWorkflowRun("ci-1-call", {});
  const used = new Map([["ci-1-call", { ...run, metadata: { ...metadata, name: "ci-1-call" } }]]);
  expect(labelOf(step, false, used)).toBe("call/build/test");
  expect(labelOf(step, true, used)).toBe("ci-1 call/build/test");
});

test("labels that somebody copied do not make a step", () => {
  const step = aStepRun("ci-1", "build", "test", { phase: "Running" });
  expect(labelOf({ ...step, metadata: { ...step.metadata, ownerReferences: [] } }, false)).toBe("ci-1-build-test");
});
