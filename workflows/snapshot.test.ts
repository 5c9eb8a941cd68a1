import { expect, test } from "vitest";
import type { Action, Workflow } from "#api/kinds/workflow.ts";
import type { WorkflowRun } from "#api/kinds/workflow-run.ts";
import type { ControllerRevision } from "#kube/builtin.ts";
import { readSnapshot, snapshotOf } from "./snapshot.ts";

const owner: WorkflowRun = {
  metadata: { name: "nightly-1", namespace: "ci", uid: "u1" },
  spec: { workflowRef: { name: "nightly" } },
};

const workflow: Workflow = {
  metadata: { name: "nightly", namespace: "ci", uid: "w1", generation: 3 },
  spec: { jobs: { build: { "runs-on": "bash", steps: [{ name: "a", run: "true" }] } } },
};

const action: Action = { metadata: { name: "lint", uid: "a1" }, spec: { steps: [{ name: "x", run: "true" }] } };

const reused: Workflow = { metadata: { name: "publish", uid: "w2", generation: 1 }, spec: workflow.spec };

/** As it comes back from the API server. */
const stored = (revision: ControllerRevision): ControllerRevision => JSON.parse(JSON.stringify(revision));

test("what is frozen is read back, whatever becomes of the templates", () => {
  const revision = stored(snapshotOf(owner, workflow, { workflows: [reused], actions: [action] }));
  expect(readSnapshot(revision, owner)).toEqual({
    ok: true,
    snapshot: {
      workflow: { name: "nightly", uid: "w1", generation: 3, spec: workflow.spec },
      workflows: [{ name: "publish", uid: "w2", generation: 1, spec: workflow.spec }],
      actions: [{ name: "lint", uid: "a1", generation: 0, spec: action.spec }],
    },
  });
});

test("jobs of the WorkflowRun itself are not frozen: they cannot change", () => {
  const revision = stored(snapshotOf(owner, undefined, { workflows: [], actions: [action] }));
  expect(readSnapshot(revision, owner)).toMatchObject({
    ok: true,
    snapshot: { workflows: [], actions: [{ name: "lint" }] },
  });
  expect(revision.metadata.labels).not.toHaveProperty(["workflows.kruntimes.io/workflow"]);
});

test("a snapshot belongs to its WorkflowRun and is found by it", () => {
  const { metadata, apiVersion, kind } = snapshotOf(owner, workflow);
  expect({ apiVersion, kind }).toEqual({ apiVersion: "apps/v1", kind: "ControllerRevision" });
  expect(metadata).toMatchObject({
    name: expect.stringMatching(/^nightly-1-snapshot-[0-9a-f]{8}$/),
    namespace: "ci",
    labels: { "workflows.kruntimes.io/workflow-run-uid": "u1", "workflows.kruntimes.io/workflow": "nightly" },
    ownerReferences: [{ kind: "WorkflowRun", uid: "u1", controller: true, blockOwnerDeletion: true }],
  });
});

const strangers: Record<string, { change: (revision: ControllerRevision) => void; want: RegExp }> = {
  "without an owner": { change: (r) => delete r.metadata.ownerReferences, want: /belongs to somebody else/ },
  "of a namesake with another uid": {
    change: (r) => {
      r.metadata.ownerReferences = (r.metadata.ownerReferences ?? []).map((each) => ({ ...each, uid: "u2" }));
    },
    want: /belongs to somebody else/,
  },
  "owned but not controlled": {
    change: (r) => {
      r.metadata.ownerReferences = (r.metadata.ownerReferences ?? []).map((each) => ({ ...each, controller: false }));
    },
    want: /belongs to somebody else/,
  },
  "without data": { change: (r) => delete r.data, want: /holds no snapshot/ },
  "in a later form": { change: (r) => Object.assign(r.data ?? {}, { format: 2 }), want: /\/format must be equal/ },
  "with steps that are no list": {
    change: (r) =>
      Object.assign(r.data ?? {}, { workflow: { ...workflow.metadata, spec: { jobs: { a: { steps: "x" } } } } }),
    want: /\/workflow\/spec\/jobs\/a\/steps must be array/,
  },
};

test.each(Object.entries(strangers))("a ControllerRevision %s is refused", (_, { change, want }) => {
  const revision = stored(snapshotOf(owner, workflow));
  change(revision);
  expect(readSnapshot(revision, owner)).toEqual({ ok: false, message: expect.stringMatching(want) });
});
