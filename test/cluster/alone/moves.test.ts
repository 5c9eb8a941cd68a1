/** The rules and policies in a real API server give the same answers as the statecharts, for every pair of phases and writer. */
import { afterAll, beforeAll, expect, describe as group, test } from "vitest";
import { workspaceFinalizer } from "#api/labels.ts";
import type { KubeObject, Resource } from "#api/meta.ts";
import * as resources from "#api/resources.ts";
import { persistentWorkspaces, workflowRuns } from "#api/resources.ts";
import { type Client, pathOf, type ResourceType } from "#kube/resource.ts";
import { StatusError } from "#kube/transport.ts";
import { lifecycles } from "#machines/index.ts";
import { type ChartModel, describe } from "#machines/lib/describe.ts";
import { writerTables } from "#machines/lib/move-policy.ts";
import { transitionTable } from "#machines/lib/transition-rules.ts";
import { uniteTables, uniteWriters } from "#machines/lib/union.ts";
import { released } from "#machines/released.ts";
import { memberCases, noStatuses } from "#test/model/write-cases.ts";
import { agentOf, clientAs, installPlatform, platformNamespace, release, usernameOf } from "../platform.ts";
import { adminClient, kubectl, testNamespace } from "../support.ts";

const deployments = ["scheduler", "controller"].map((component) => `deployment/${release}-${component}`);

beforeAll(async () => {
  await installPlatform();
  // Nobody else moves what the test puts into each phase. The policies are in force all the same.
  await kubectl(["scale", "-n", platformNamespace, "--replicas=0", ...deployments]);
  const selector = "app.kubernetes.io/component in (scheduler, controller)";
  await kubectl(["wait", "-n", platformNamespace, "--for=delete", "--timeout=60s", "pods", "-l", selector]);
});

afterAll(async () => {
  await kubectl(["scale", "-n", platformNamespace, "--replicas=2", ...deployments]);
  await kubectl(["rollout", "status", "-n", platformNamespace, "--timeout=90s", ...deployments]);
});

type Any = Resource<unknown, { phase?: string }>;

const own = { name: "pod-a", uid: "uid-a" };

/** By kind: a spec that is admitted, and the status beside its phase. */
const samples: Record<string, { readonly spec: unknown; readonly status: object }> = {
  Run: {
    spec: { runtime: "bash", source: { inline: "true" } },
    status: { assignedPod: own.name, assignedPodUID: own.uid, assignmentEpoch: 1, attempt: 1 },
  },
  PersistentWorkspace: {
    spec: { runtime: "bash" },
    status: { runtime: "bash", boundPod: own.name, boundPodUID: own.uid },
  },
  WorkflowRun: {
    spec: { jobs: { build: { "runs-on": "bash", steps: [{ name: "test", run: "true" }] } } },
    status: { attempt: 1 },
  },
  WorkflowAction: { spec: { workflowRef: { name: "nobody" }, action: "Stop" }, status: {} },
};

/** Every chart that is the status of a kind. */
const cases = lifecycles.flatMap(({ name, machine, persistence }) => {
  if (persistence?.path !== "") return [];
  const { kind } = persistence;
  const sample = samples[kind];
  const resource = Object.values(resources).find((each) => each.kind === kind);
  if (sample === undefined || resource === undefined) throw new RangeError(`no sample of a ${kind} to move`);
  const chart = describe(machine);
  const table = uniteTables(transitionTable(chart), released.charts[name]?.table);
  const writers = uniteWriters(writerTables(chart), released.charts[name]?.writers);
  return [
    { name, chart, table, writers, resource: resource as ResourceType<KubeObject> as ResourceType<Any>, ...sample },
  ];
});

/**
 * Rights alone would let an agent write every status; what is left of them is the policies' work. The scheduler writes by patches;
 * here it may do as the others, which replace.
 */
async function bindWriters(namespace: string): Promise<void> {
  const args = [`--clusterrole=${release}-agent`, `--serviceaccount=${namespace}:runtime-bash`];
  await kubectl(["create", "rolebinding", "agents", "-n", namespace, ...args]);
  const statuses = ["--verb=update", "--resource=runs.kruntimes.io/status"];
  await kubectl(["create", "role", "scheduler", "-n", namespace, ...statuses]);
  const user = ["--role=scheduler", `--user=${usernameOf("scheduler")}`];
  await kubectl(["create", "rolebinding", "scheduler", "-n", namespace, ...user]);
}

/** What the server says to a status: taken, or the code of its refusal. Nothing is stored. */
async function answer(client: Client, resource: ResourceType<Any>, object: Any, status: unknown): Promise<number> {
  const { name, namespace } = object.metadata;
  try {
    await client.transport.request({
      method: "PUT",
      path: pathOf(resource, { name, namespace, subresource: "status" }),
      query: { dryRun: "All" },
      body: { ...object, status },
    });
    return 200;
  } catch (error) {
    if (error instanceof StatusError) return error.code;
    throw error;
  }
}

/** Whether it was taken; 403 is a right or a policy, 422 the transition rule or the schema, and others are surprises. */
const taken = (code: number) => (code === 200 ? true : code === 403 || code === 422 ? false : code);

/** The shortest way to a phase along the chart, whoever goes it. */
function pathTo(chart: ChartModel, target: string): string[] {
  const open = [{ at: chart.initial, path: [chart.initial] }];
  const seen = new Set([chart.initial]);
  for (let next = open.shift(); next !== undefined; next = open.shift()) {
    if (next.at === target) return next.path;
    for (const { from, to, reopens } of chart.transitions) {
      if (from !== next.at || reopens || seen.has(to)) continue;
      seen.add(to);
      open.push({ at: to, path: [...next.path, to] });
    }
  }
  throw new RangeError(`${target} cannot be reached in ${chart.name}`);
}

group.each(cases)("$name", ({ chart, table, writers, resource, spec, status }) => {
  const inPhase = (phase: string) => ({ ...status, phase });
  const phases = chart.states.map(({ name }) => name);

  /** An object in that phase. An administrator may override the policies, but not the rule: it goes along the chart. */
  async function bring(namespace: string, target: string, statusIn = inPhase): Promise<Any> {
    const admin = adminClient().of(resource);
    let object = await admin.create({ metadata: { name: `from-${target.toLowerCase()}`, namespace }, spec });
    for (const phase of pathTo(chart, target)) {
      object = await admin.update({ ...object, status: statusIn(phase) }, "status");
    }
    return object;
  }

  test("the API server admits what the chart lets an identity do, and no more", async () => {
    await using namespace = await testNamespace("moves");
    await bindWriters(namespace.name);
    const groups = ["system:serviceaccounts"];
    const clients = {
      scheduler: clientAs({ user: usernameOf("scheduler"), groups }),
      controller: clientAs({ user: usernameOf("controller"), groups }),
      agent: agentOf(namespace.name, own),
    };
    const admin = adminClient();
    for (const from of phases) {
      const object = await bring(namespace.name, from);
      for (const to of phases) {
        const asked = `${from} to ${to}`;
        // Held by the rule alone.
        const byRule = await answer(admin, resource, object, inPhase(to));
        expect(taken(byRule), `rule: ${asked}`).toBe(table.moves[from]?.includes(to) ?? false);
        const next = { ...inPhase(to), attempt: 2 };
        const reopens = table.reopens[from]?.includes(to) ?? false;
        if (reopens) expect(await answer(admin, resource, object, next), `rule, next attempt: ${asked}`).toBe(200);
        for (const [writer, client] of Object.entries(clients)) {
          const mine = writers[writer as keyof typeof clients];
          const code = await answer(client, resource, object, inPhase(to));
          expect(taken(code), `${writer}: ${asked}`).toBe(mine?.moves[from]?.includes(to) ?? false);
          if (!reopens) continue;
          const again = await answer(client, resource, object, next);
          expect(taken(again), `${writer}, next attempt: ${asked}`).toBe(mine?.reopens[from]?.includes(to) ?? false);
        }
      }
    }
  });

  test("a status that is taken away begins anew, and one without a phase is none", async () => {
    const admin = adminClient();
    await using namespace = await testNamespace("status");
    for (const from of phases) {
      // With nothing but its phase: other rules are on other fields.
      const object = await bring(namespace.name, from, (phase) => ({ phase }) as ReturnType<typeof inPhase>);
      const back = table.moves[from]?.includes(chart.initial) ?? false;
      for (const none of [null, undefined]) {
        expect(taken(await answer(admin, resource, object, none)), `${from}: ${none}`).toBe(back);
      }
      for (const status of noStatuses) {
        // 400 where it is not even an object.
        expect(await answer(admin, resource, object, status), `${from}: ${JSON.stringify(status)}`).not.toBe(200);
      }
    }
  });

  test("what is created begins where the chart does, whatever it says of itself", async () => {
    await using namespace = await testNamespace("first");
    for (const phase of phases) {
      const metadata = { name: `first-${phase.toLowerCase()}`, namespace: namespace.name };
      const made = await adminClient()
        .of(resource)
        .create({ metadata, spec, status: { phase } } as Any);
      expect(made.status).toEqual({ phase: chart.initial });
    }
  });
});

test.each(Object.entries(memberCases))("jobs and steps of a status: %s", async (_, { status, code }) => {
  const admin = adminClient();
  await using namespace = await testNamespace("members");
  const resource = workflowRuns as ResourceType<KubeObject> as ResourceType<Any>;
  const { spec } = samples.WorkflowRun as { spec: unknown };
  const made = await admin.of(resource).create({ metadata: { name: "w", namespace: namespace.name }, spec });
  const running = await admin.of(resource).update({ ...made, status: { phase: "Running" } }, "status");
  expect(await answer(admin, resource, running, { phase: "Running", ...status })).toBe(code);
});
test("an agent takes the cleanup finalizer from a workspace of its own Pod, and changes nothing else", async () => {
  const admin = adminClient();
  await using namespace = await testNamespace("finalizer");
  await bindWriters(namespace.name);
  const ref = { name: "w", namespace: namespace.name };
  const create = async () => {
    await admin.of(persistentWorkspaces).create({
      metadata: { ...ref, finalizers: [workspaceFinalizer, "example.com/other"] },
      spec: { runtime: "nobody" },
    });
    // As the controller would bind it to a Pod of the test's own invention.
    const made = await admin.of(persistentWorkspaces).get(ref);
    return admin.of(persistentWorkspaces).update(
      {
        ...made,
        status: { phase: "Bound", runtime: "nobody", boundPod: own.name, boundPodUID: own.uid },
      },
      "status",
    );
  };
  await create();
  const agent = agentOf(namespace.name, own).of(persistentWorkspaces);
  const other = agentOf(namespace.name, { name: "pod-b", uid: "uid-b" }).of(persistentWorkspaces);
  const without = { metadata: { finalizers: ["example.com/other"] } };
  const refusal = (text: string) => ({ code: 403, message: expect.stringContaining(text) });

  await expect(agent.patch(ref, without)).rejects.toMatchObject(refusal("only when it is being deleted"));
  await admin.of(persistentWorkspaces).delete(ref);
  await expect(other.patch(ref, without)).rejects.toMatchObject(refusal("only the agent of the Pod"));
  await expect(agent.patch(ref, { metadata: { finalizers: [] } })).rejects.toMatchObject(
    refusal("may only remove the finalizer"),
  );
  await expect(agent.patch(ref, { metadata: { ...without.metadata, labels: { mine: "now" } } })).rejects.toMatchObject(
    refusal("may only remove the finalizer"),
  );
  expect((await agent.patch(ref, without)).metadata.finalizers).toEqual(["example.com/other"]);
  await admin.of(persistentWorkspaces).patch(ref, { metadata: { finalizers: [] } });
});
