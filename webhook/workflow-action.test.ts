import { expect, test } from "vitest";
import { parse } from "yaml";
import type { Workflow } from "#api/kinds/workflow.ts";
import type { WorkflowAction } from "#api/kinds/workflow-action.ts";
import type { WorkflowRun } from "#api/kinds/workflow-run.ts";
import { snapshotOf } from "#workflows/snapshot.ts";
import { review } from "./review.ts";
import { childMeta, controller, lookups } from "./testing/objects.ts";

const workflow: Workflow = {
  metadata: { name: "ci", namespace: "n" },
  spec: parse(`
inputs: {version: {required: true}, count: {type: number}, level: {type: choice, options: [low, high]}}
jobs: {a: {runs-on: b, steps: [{name: s, run: x}]}}`),
};
const run: WorkflowRun = {
  metadata: { name: "w", namespace: "n", uid: "w-uid" },
  spec: { workflowRef: { name: "ci" }, inputs: { version: "1" } },
};
const inline: WorkflowRun = { ...run, spec: { jobs: workflow.spec.jobs } };
const child: WorkflowRun = { ...run, metadata: { ...childMeta("w"), uid: "w-uid" } };

const action = (inputs: object, more: object = {}): WorkflowAction => ({
  metadata: { name: "r", namespace: "n" },
  spec: { workflowRef: { name: "w", ...more }, action: "Retry", retry: { inputs: { ...inputs } } },
});

/** The errors of an action on a run whose Workflow is frozen, unless that is said. */
async function errors(object: WorkflowAction, target: WorkflowRun | undefined, isFrozen = true) {
  const deps = {
    controller,
    lookups: lookups({
      workflowRun: async () => target,
      snapshot: async () => (isFrozen ? snapshotOf(run, workflow) : undefined),
    }),
  };
  const verdict = await review({ operation: "CREATE", kind: "WorkflowAction", namespace: "n", object }, deps);
  return verdict.kind === "invalid" ? verdict.errors.map(({ path, message }) => `${path}: ${message}`) : verdict.kind;
}

test("inputs of a Retry are judged by the Workflow as the run has frozen it", async () => {
  expect(await errors(action({ count: "3", level: "high" }), run)).toBe("admitted");
  expect(await errors(action({ count: "x", level: "mid", other: 1 }), run)).toEqual([
    'spec.retry.inputs.other: Workflow "ci" has no input "other"',
    'spec.retry.inputs.count: "x" is no number',
    'spec.retry.inputs.level: "mid" is none of the options',
  ]);
  expect(await errors(action({ count: 1 }), inline)).toEqual([
    'spec.retry.inputs.count: WorkflowRun "w" has jobs of its own, which have no inputs',
  ]);
});

test("what cannot be known at admission is left to the controller", async () => {
  const wrong = action({ other: 1 });
  expect(await errors(wrong, undefined)).toBe("admitted");
  expect(await errors(wrong, run, false)).toBe("admitted");
  expect(await errors(wrong, child)).toBe("admitted");
  expect(await errors(action({ other: 1 }, { uid: "another" }), run)).toBe("admitted");
});

test("an action without inputs, and a change of one, look nothing up", async () => {
  const deps = { controller, lookups: lookups({}) };
  const admitted = { kind: "admitted" };
  const asked = { kind: "WorkflowAction", namespace: "n" } as const;
  expect(await review({ ...asked, operation: "CREATE", object: action({}) }, deps)).toMatchObject(admitted);
  const object = action({ other: 1 });
  expect(await review({ ...asked, operation: "UPDATE", object, oldObject: object }, deps)).toMatchObject(admitted);
});
