import { expect, test } from "vitest";
import type { Workflow } from "#api/kinds/workflow.ts";
import { compileWorkflow } from "#workflows/compile-workflow.ts";
import { templateStatus } from "./controller.ts";

const now = Date.parse("2026-01-01T00:00:00Z");

function workflow(needs: string[]): Workflow {
  return {
    metadata: { name: "w", generation: 3 },
    spec: { jobs: { build: { "runs-on": "bash", needs, steps: [{ name: "a", run: "true" }] } } },
  };
}

test("a template that compiles is Valid, for the generation that was looked at", () => {
  const object = workflow([]);
  expect(templateStatus(object, compileWorkflow(object.spec), now)).toMatchObject({
    observedGeneration: 3,
    jobs: 1,
    conditions: [{ type: "Valid", status: "True", reason: "Valid", observedGeneration: 3 }],
  });
});

test("one that does not says where and why", () => {
  const object = workflow(["missing"]);
  const status = templateStatus(object, compileWorkflow(object.spec), now);
  expect(status?.conditions?.[0]).toMatchObject({ type: "Valid", status: "False", reason: "Invalid" });
  expect(status?.conditions?.[0]?.message).toContain("spec.jobs.build.needs[0]");
});

test("what is said already is not written again", () => {
  const object = workflow([]);
  const status = templateStatus(object, compileWorkflow(object.spec), now);
  expect(
    templateStatus({ ...object, ...(status && { status }) }, compileWorkflow(object.spec), now + 1),
  ).toBeUndefined();
});
