/** The admission policies in a real API server give the same answers as the statecharts, for every pair of phases. */
import { afterAll, beforeAll, expect, test } from "vitest";
import type { PersistentWorkspace } from "#api/kinds/persistent-workspace.ts";
import type { Run } from "#api/kinds/run.ts";
import type { WorkflowRun } from "#api/kinds/workflow-run.ts";
import { workspaceFinalizer } from "#api/labels.ts";
import type { Resource } from "#api/meta.ts";
import { persistentWorkspaces, runs, workflowRuns } from "#api/resources.ts";
import { type Client, pathOf, type ResourceType } from "#kube/resource.ts";
import { StatusError } from "#kube/transport.ts";
import { lifecycles } from "#machines/index.ts";
import { type ChartModel, describe } from "#machines/lib/describe.ts";
import { movesByWriter } from "#machines/lib/writers.ts";
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
  await installPlatform();
});

type Any = Resource<unknown, { phase?: string }>;

const own = { name: "pod-a", uid: "uid-a" };

interface Kind {
  readonly chart: string;
  readonly resource: ResourceType<Any>;
  readonly spec: unknown;
  readonly status: object;
}

const cases: readonly Kind[] = [
  {
    chart: "run",
    resource: runs as ResourceType<Run> as ResourceType<Any>,
    spec: { runtime: "bash", source: { inline: "true" } },
    status: { assignedPod: own.name, assignedPodUID: own.uid, assignmentEpoch: 1, attempt: 1 },
  },
  {
    chart: "persistent-workspace",
    resource: persistentWorkspaces as ResourceType<PersistentWorkspace> as ResourceType<Any>,
    spec: { runtime: "bash" },
    status: { runtime: "bash", boundPod: own.name, boundPodUID: own.uid },
  },
  {
    chart: "workflow-run",
    resource: workflowRuns as ResourceType<WorkflowRun> as ResourceType<Any>,
    spec: { jobs: { build: { "runs-on": "bash", steps: [{ name: "a", run: "true" }] } } },
    status: { attempt: 1 },
  },
];

/** Rights alone would let an agent write every status; what is left of them is the policies' work. */
async function bindAgents(namespace: string): Promise<void> {
  const role = `--clusterrole=${release}-agent`;
  await kubectl([
    "create",
    "rolebinding",
    "agents",
    "-n",
    namespace,
    role,
    `--serviceaccount=${namespace}:runtime-bash`,
  ]);
}

/** What the server says to a status: taken, or the code of its refusal. Nothing is stored. */
async function answer(client: Client, resource: ResourceType<Any>, object: Any, status: object): Promise<number> {
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

/** The shortest way to a phase along the chart, whoever goes it. */
function pathTo(chart: ChartModel, target: string): string[] {
  const open = [{ at: chart.initial, path: [chart.initial] }];
  const seen = new Set([chart.initial]);
  for (let next = open.shift(); next !== undefined; next = open.shift()) {
    if (next.at === target) return next.path;
    for (const { from, to } of chart.transitions) {
      if (from !== next.at || seen.has(to)) continue;
      seen.add(to);
      open.push({ at: to, path: [...next.path, to] });
    }
  }
  throw new RangeError(`${target} cannot be reached in ${chart.name}`);
}

test.each(cases)("$chart: the API server admits what the chart lets an identity do, and no more", async (kind) => {
  const admin = adminClient();
  await using namespace = await testNamespace("moves");
  await bindAgents(namespace.name);
  const groups = ["system:serviceaccounts"];
  const clients = {
    scheduler: clientAs({ user: usernameOf("scheduler"), groups }),
    controller: clientAs({ user: usernameOf("controller"), groups }),
    agent: agentOf(namespace.name, own),
  };
  const machine = lifecycles.find(({ name }) => name === kind.chart)?.machine;
  if (machine === undefined) throw new RangeError(kind.chart);
  const chart = describe(machine);
  const moves = movesByWriter(chart);
  const status = (phase: string) => ({ ...kind.status, phase });

  for (const { name: from } of chart.states) {
    const metadata = { name: `from-${from.toLowerCase()}`, namespace: namespace.name };
    let object = await admin.of(kind.resource).create({ metadata, spec: kind.spec });
    // An administrator may override the policies, but not the transition rule: each phase is reached along the chart.
    for (const phase of pathTo(chart, from)) {
      object = await admin.of(kind.resource).update({ ...object, status: status(phase) }, "status");
    }
    for (const [writer, client] of Object.entries(clients)) {
      for (const { name: to } of chart.states) {
        const wanted = moves[writer as keyof typeof clients]?.[from]?.includes(to) ?? false;
        const code = await answer(client, kind.resource, object, status(to));
        // 403 by a right or a policy, 422 by the transition rule.
        expect(code === 200 ? true : code === 403 || code === 422 ? false : code, `${writer}: ${from} to ${to}`).toBe(
          wanted,
        );
      }
    }
  }
});

test("an agent takes the cleanup finalizer from a workspace of its own Pod, and changes nothing else", async () => {
  const admin = adminClient();
  await using namespace = await testNamespace("finalizer");
  await bindAgents(namespace.name);
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
