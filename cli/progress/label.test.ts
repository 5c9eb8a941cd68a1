import { expect, test } from "vitest";
import { aRun, aStepRun } from "../testing/objects.ts";
import { labelOf } from "./label.ts";

test("a step is called by its job and name, a Run by its own", () => {
  const step = aStepRun("ci-1", "build", "test", { phase: "Running" });
  expect(labelOf(step, false)).toBe("build/test");
  expect(labelOf(step, true)).toBe("ci-1 build/test");
  expect(labelOf(aRun("hello", undefined), true)).toBe("hello");
});

test("labels that somebody copied do not make a step", () => {
  const step = aStepRun("ci-1", "build", "test", { phase: "Running" });
  expect(labelOf({ ...step, metadata: { ...step.metadata, ownerReferences: [] } }, false)).toBe("ci-1-build-test");
});
