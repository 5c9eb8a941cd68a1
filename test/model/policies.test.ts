import { expect, test } from "vitest";
import { workspacePhases } from "#api/kinds/persistent-workspace.ts";
import { workflowActionPhases } from "#api/kinds/workflow-action.ts";
import { workspaceFinalizer } from "#api/labels.ts";
import { runPhases } from "#api/run-phases.ts";
import { workflowRunPhases } from "#api/workflow-phases.ts";
import { compileCel } from "#local/apiserver/cel/compile.ts";
import { CelError } from "#local/apiserver/cel/errors.ts";
import { dyn } from "#local/apiserver/cel/types.ts";
import { lifecycles } from "#machines/index.ts";
import { describe } from "#machines/lib/describe.ts";
import { movesByWriter } from "#machines/lib/writers.ts";
import { admissionPolicies } from "#machines/policies.ts";

const users = {
  scheduler: "system:serviceaccount:kruntimes:scheduler",
  controller: "system:serviceaccount:kruntimes:controller",
  agent: "system:serviceaccount:default:runtime-bash",
} as const;

const kinds = [
  { chart: "run", policy: "runs-status", phases: runPhases },
  { chart: "persistent-workspace", policy: "persistentworkspaces-status", phases: workspacePhases },
  { chart: "workflow-run", policy: "workflowruns-status", phases: workflowRunPhases },
  { chart: "workflow-action", policy: "workflowactions-status", phases: workflowActionPhases },
] as const;

const policies = admissionPolicies(users);

interface Request {
  readonly username: string;
  readonly object: unknown;
  readonly oldObject: unknown;
  /** The Pod that the token is bound to. */
  readonly pod?: { readonly name: string; readonly uid: string };
  readonly override?: boolean;
}

interface Answer {
  /** Messages of what is refused. */
  readonly refused: readonly string[];
  /** What the audit log says; undefined when it cannot be evaluated, which refuses. */
  readonly audited: readonly unknown[];
}

/** Evaluates the parts of a policy as an API server does: what cannot be evaluated refuses. */
function review(name: string, { username, object, oldObject, pod, override = false }: Request): Answer {
  const policy = policies.find((each) => each.name === name);
  if (policy === undefined) throw new RangeError(name);
  const extra = pod && {
    "authentication.kubernetes.io/pod-name": [pod.name],
    "authentication.kubernetes.io/pod-uid": [pod.uid],
  };
  const request = { userInfo: { username, ...(extra && { extra }) } };
  const names = { request: dyn, object: dyn, oldObject: dyn, variables: dyn };
  const evaluate = (expression: string, variables: object): unknown => {
    try {
      return compileCel(expression, names).run([request, object, oldObject, variables]);
    } catch (error) {
      if (error instanceof CelError) return undefined;
      throw error;
    }
  };
  const variables: Record<string, unknown> = {};
  for (const { name: variable, expression } of policy.variables) {
    variables[variable] = variable === "override" ? override : evaluate(expression, variables);
  }
  return {
    refused: policy.validations
      .filter(({ expression }) => evaluate(expression, variables) !== true)
      .map(({ messageExpression }) => String(evaluate(messageExpression, variables))),
    audited: policy.auditAnnotations.map(({ valueExpression }) => evaluate(valueExpression, variables)),
  };
}

const refusals = (name: string, request: Request) => review(name, request).refused;

const assigned = { assignedPod: "p", assignedPodUID: "u", assignmentEpoch: 1, attempt: 1 };
const own = { name: "p", uid: "u" };
const run = (phase: string, status: object = assigned) => ({ status: { phase, ...status } });

for (const { chart, policy, phases } of kinds) {
  test(`for every pair of phases and every identity, the policy of ${chart} says what the chart says`, () => {
    const machine = lifecycles.find(({ name }) => name === chart)?.machine;
    if (machine === undefined) throw new RangeError(chart);
    const moves = movesByWriter(describe(machine));
    let admitted = 0;
    for (const [writer, username] of Object.entries(users)) {
      for (const from of phases) {
        for (const to of phases) {
          const request = { username, object: run(to), oldObject: run(from), pod: own };
          const expected = moves[writer as keyof typeof users]?.[from]?.includes(to) ?? false;
          expect(refusals(policy, request).length === 0, `${writer}: ${from} to ${to}`).toBe(expected);
          // By override everything is admitted, and what would have been refused is marked in the audit log.
          expect(review(policy, { ...request, override: true })).toEqual({
            refused: [],
            audited: [expected ? "" : expect.stringMatching(` from ${from} to ${to}$`)],
          });
          if (expected) admitted++;
        }
      }
    }
    expect(admitted).toBeGreaterThan(phases.length);
  });
}

test("a refused move says who, from where, to where", () => {
  const request = { username: users.scheduler, object: run("Succeeded"), oldObject: run("Running") };
  expect(refusals("runs-status", request)).toEqual([
    `${users.scheduler} (as scheduler) may not move this Run from Running to Succeeded; see docs/statecharts/run.md`,
  ]);
});

const claim = { object: run("Running"), oldObject: run("Scheduled") };
const onlyOwn =
  "only the agent of the Pod that a Run is assigned to may write its status, with the token of that very Pod; this one is assigned to Pod p";

const fence: Record<string, { request: Omit<Request, "username">; refused: string[] }> = {
  "the agent of the Pod claims": { request: { ...claim, pod: own }, refused: [] },
  "the agent of another Pod does not": { request: { ...claim, pod: { name: "q", uid: "v" } }, refused: [onlyOwn] },
  "a token of an earlier Pod of the same name is stale": {
    request: { ...claim, pod: { name: "p", uid: "old" } },
    refused: [onlyOwn],
  },
  "a token that is bound to no Pod is worth nothing": { request: claim, refused: [onlyOwn] },
  "nobody is the agent of a Run that is assigned to no Pod": {
    request: { object: run("Pending", {}), oldObject: run("Pending", {}), pod: own },
    refused: [onlyOwn.replace("Pod p", "no Pod")],
  },
  "an agent hands back": {
    request: { object: run("Pending", { assignmentEpoch: 1 }), oldObject: run("Scheduled"), pod: own },
    refused: [],
  },
  "an agent cannot hand on to another Pod": {
    request: { object: run("Running", { ...assigned, assignedPod: "q" }), oldObject: run("Scheduled"), pod: own },
    refused: ["an agent may give an assignment back, but not change it"],
  },
  "an agent cannot raise the epoch": {
    request: { object: run("Running", { ...assigned, assignmentEpoch: 2 }), oldObject: run("Scheduled"), pod: own },
    refused: ["an agent may give an assignment back, but not change it"],
  },
  "somebody with the right to override does anything": { request: { ...claim, override: true }, refused: [] },
};

test.each(Object.entries(fence))("%s", (_, { request, refused }) => {
  expect(refusals("runs-status", { username: users.agent, ...request })).toEqual(refused);
});

test("an override works on a phase that the chart does not have, and is audited", () => {
  const request = { username: "somebody", object: run("Failed"), oldObject: run("Paused"), override: true };
  expect(review("runs-status", request)).toEqual({
    refused: [],
    audited: ["Run from Paused to Failed"],
  });
});

test("an override of the fence alone is audited too", () => {
  const request = { username: users.agent, ...claim, pod: { name: "q", uid: "v" }, override: true };
  expect(review("runs-status", request).audited).toEqual(["Run from Scheduled to Running"]);
});

const deleted = "2026-01-01T00:00:00Z";
const workspace = (metadata: object, change: object = {}) => ({
  metadata,
  spec: { runtime: "bash" },
  status: { phase: "Released", boundPod: "p", boundPodUID: "u" },
  ...change,
});
const before = workspace({
  deletionTimestamp: deleted,
  finalizers: ["a", workspaceFinalizer, "b"],
  labels: { x: "y" },
});
const after = workspace({ deletionTimestamp: deleted, finalizers: ["a", "b"], labels: { x: "y" } });
const onlyFinalizer = `an agent may only remove the finalizer ${workspaceFinalizer}`;
const onlyBound =
  "only the agent of the Pod that a workspace is bound to may change it, and only when it is being deleted; this one is bound to Pod p";
const edit = (metadata: object, change: object = {}) =>
  workspace({ deletionTimestamp: deleted, finalizers: ["a", "b"], labels: { x: "y" }, ...metadata }, change);

const workspaceFence: Record<string, { request: Omit<Request, "username">; refused: string[] }> = {
  "the agent takes its finalizer away": { request: { object: after, oldObject: before, pod: own }, refused: [] },
  "the last finalizer goes with the list": {
    request: {
      object: workspace({ deletionTimestamp: deleted }),
      oldObject: workspace({ deletionTimestamp: deleted, finalizers: [workspaceFinalizer] }),
      pod: own,
    },
    refused: [],
  },
  "the agent of another Pod does not": {
    request: { object: after, oldObject: before, pod: { name: "q", uid: "v" } },
    refused: [onlyBound],
  },
  "nobody does while the workspace lives": {
    request: { object: workspace({}), oldObject: workspace({ finalizers: [workspaceFinalizer] }), pod: own },
    refused: [onlyBound],
  },
  "another finalizer stays": {
    request: { object: edit({ finalizers: ["a"] }), oldObject: before, pod: own },
    refused: [onlyFinalizer],
  },
  "labels stay": {
    request: { object: edit({ labels: { x: "z" } }), oldObject: before, pod: own },
    refused: [onlyFinalizer],
  },
  "annotations stay": {
    request: { object: edit({ annotations: { a: "b" } }), oldObject: before, pod: own },
    refused: [onlyFinalizer],
  },
  "owners stay": {
    request: { object: edit({ ownerReferences: [] }), oldObject: before, pod: own },
    refused: [onlyFinalizer],
  },
  "the spec stays": {
    request: { object: edit({}, { spec: { runtime: "other" } }), oldObject: before, pod: own },
    refused: [onlyFinalizer],
  },
};

test.each(Object.entries(workspaceFence))("of a workspace: %s", (_, { request, refused }) => {
  expect(refusals("persistentworkspaces-agents", { username: users.agent, ...request })).toEqual(refused);
});
