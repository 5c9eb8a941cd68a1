/** The embedded API server, with the definitions as they are generated, against the charts: writes that really arrive. */
import { beforeEach, expect, describe as group, test } from "vitest";
import { workspacePhases } from "#api/kinds/persistent-workspace.ts";
import { workflowActionPhases } from "#api/kinds/workflow-action.ts";
import type { KubeObject } from "#api/meta.ts";
import { persistentWorkspaces, runs, workflowActions, workflowRuns } from "#api/resources.ts";
import { runPhases } from "#api/run-phases.ts";
import { workflowRunPhases } from "#api/workflow-phases.ts";
import { apiVersionOf } from "#kube/builtin.ts";
import { createClient } from "#kube/client.ts";
import { memoryTransport } from "#kube/memory.ts";
import type { ResourceType } from "#kube/resource.ts";
import { seededRandom } from "#kube/seeded-random.ts";
import { StatusError } from "#kube/transport.ts";
import { VirtualClock } from "#kube/virtual-clock.ts";
import { createApiServer, createMemoryStorage } from "#local/apiserver/index.ts";
import { platformCrds } from "#local/crds.ts";
import { lifecycle } from "#machines/index.ts";
import { describe } from "#machines/lib/describe.ts";
import { transitionTable } from "#machines/lib/transition-rules.ts";
import { memberCases, noStatuses } from "./write-cases.ts";

const namespace = "default";
const jobs = { build: { "runs-on": "bash", steps: [{ name: "test", run: "true" }] } };
const kinds = [
  { chart: "run", resource: runs, phases: runPhases, spec: { runtime: "bash", source: { inline: "true" } } },
  {
    chart: "persistent-workspace",
    resource: persistentWorkspaces,
    phases: workspacePhases,
    spec: { runtime: "bash" },
  },
  { chart: "workflow-run", resource: workflowRuns, phases: workflowRunPhases, spec: { jobs } },
  {
    chart: "workflow-action",
    resource: workflowActions,
    phases: workflowActionPhases,
    spec: { workflowRef: { name: "ci" }, action: "Stop" },
  },
] as const;

type Subject = KubeObject & { readonly status?: unknown };

const crds = platformCrds();
let storage = createMemoryStorage(1000);
let client = connect();
beforeEach(() => {
  storage = createMemoryStorage(1000);
  client = connect();
});

function connect() {
  const clock = new VirtualClock();
  return createClient(memoryTransport(createApiServer({ crds, clock, random: seededRandom(1), storage }), clock));
}

const ref = { name: "subject", namespace };

/** An object as some other version may have left it: written past every rule. */
function store(of: (typeof kinds)[number], status: object | undefined): void {
  const resource = of.resource as unknown as ResourceType<Subject>;
  storage.put(`${resource.plural}.${resource.group}`, {
    apiVersion: apiVersionOf(resource),
    kind: resource.kind,
    metadata: { ...ref, uid: "uid", creationTimestamp: "2026-01-01T00:00:00Z", generation: 1 },
    spec: of.spec,
    ...(status !== undefined && { status }),
  });
}

/** HTTP status of a write; 200 when it was stored. */
async function answer(write: Promise<unknown>): Promise<number> {
  try {
    await write;
    return 200;
  } catch (error) {
    if (error instanceof StatusError) return error.code;
    throw error;
  }
}

group.each(kinds)("$chart", (kind) => {
  const { chart, phases } = kind;
  const resource = kind.resource as unknown as ResourceType<Subject>;
  const { moves } = transitionTable(describe(lifecycle(chart).machine));
  const admits = (from: string, to: string) => (moves[from]?.includes(to) ? 200 : 422);
  const api = () => client.of(resource);
  const put = async (status: unknown) => api().update({ ...(await api().get(ref)), status } as Subject, "status");
  const patch = (body: unknown) => api().patch(ref, body, { subresource: "status" });

  test("every pair of phases is answered as the chart says, by PUT and by PATCH", async () => {
    for (const from of phases) {
      for (const to of phases) {
        for (const write of [() => put({ phase: to }), () => patch({ status: { phase: to } })]) {
          store(kind, { phase: from });
          expect(await answer(write()), `${from} -> ${to}`).toBe(admits(from, to));
        }
      }
    }
  });

  test("a status that is taken away is one that begins anew: refused wherever the chart has no way back", async () => {
    for (const from of Object.keys(moves)) {
      const writes = [() => put(null), () => put(undefined), () => patch({ status: null })];
      for (const write of writes) {
        store(kind, { phase: from, reason: "Because" });
        expect(await answer(write()), from).toBe(admits(from, "Pending"));
        const { phase } = (await api().get(ref)).status as { phase: string };
        expect(phase).toBe(admits(from, "Pending") === 200 ? "Pending" : from);
      }
    }
  });

  test("a status without a phase, or with one that is none, is refused", async () => {
    for (const status of noStatuses) {
      store(kind, { phase: "Pending" });
      expect(await answer(put(status)), JSON.stringify(status)).not.toBe(200);
    }
    expect(await answer(patch({ status: { phase: null } }))).toBe(422);
  });

  test("what is created is Pending, whatever it says of itself", async () => {
    const made = await api().create({ metadata: ref, spec: kind.spec, status: { phase: "Running" } } as Subject);
    expect(made.status).toEqual({ phase: "Pending" });
  });

  test("the first write to what was just created goes where the chart goes from its beginning", async () => {
    for (const [index, to] of phases.entries()) {
      const made = await api().create({ metadata: { name: `new-${index}`, namespace }, spec: kind.spec } as Subject);
      expect(await answer(api().update({ ...made, status: { phase: to } } as Subject, "status")), to).toBe(
        admits("Pending", to),
      );
    }
  });

  test("an object that never had a status begins as Pending and as nothing else", async () => {
    for (const to of phases) {
      store(kind, undefined);
      expect(await answer(put({ phase: to })), to).toBe(to === "Pending" ? 200 : 422);
    }
  });

  test("a write of the object itself leaves the status alone", async () => {
    const made = await api().create({ metadata: ref, spec: kind.spec } as Subject);
    const updated = await api().update({ ...made, status: { phase: "Running" } } as Subject);
    expect(updated.status).toEqual({ phase: "Pending" });
  });
});

const workflow = kinds[2];

test.each(Object.entries(memberCases))("members of a workflow: %s", async (_, { status, code }) => {
  store(workflow, { phase: "Running" });
  const api = client.of(workflowRuns as unknown as ResourceType<Subject>);
  const write = api.update({ ...(await api.get(ref)), status: { phase: "Running", ...status } } as Subject, "status");
  expect(await answer(write)).toBe(code);
});
