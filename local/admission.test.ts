import { expect, test } from "vitest";
import type { Run } from "#api/kinds/run.ts";
import type { WorkflowRun } from "#api/kinds/workflow-run.ts";
import { actions, persistentWorkspaces, runs, workflowRuns } from "#api/resources.ts";
import { createClient } from "#kube/client.ts";
import { memoryTransport } from "#kube/memory.ts";
import type { Client } from "#kube/resource.ts";
import { seededRandom } from "#kube/seeded-random.ts";
import { StatusError } from "#kube/transport.ts";
import { VirtualClock } from "#kube/virtual-clock.ts";
import { childMeta } from "#workflows/child-meta.ts";
import { childWorkspace } from "#workflows/child-workspace.ts";
import { localAdmission } from "./admission.ts";
import { createApiServer } from "./apiserver/index.ts";
import { platformCrds } from "./crds.ts";
import { controllerUser, tokenUser } from "./identities.ts";

const namespace = "default";

function arrange() {
  const clock = new VirtualClock();
  const api = createApiServer({
    crds: platformCrds(),
    admission: [localAdmission(() => client, clock)],
    clock,
    random: seededRandom(1),
  });
  const client: Client = createClient(memoryTransport(api, clock));
  const as = (user: typeof tokenUser) => createClient(memoryTransport(api.as(user), clock));
  return { api, client, user: as(tokenUser), controller: as(controllerUser) };
}

const owner: WorkflowRun = {
  metadata: { name: "w", namespace },
  spec: { jobs: { build: { "runs-on": "bash", steps: [{ name: "a", run: "true" }] } } },
};

async function jobOf(client: Client, job: string) {
  const stored = await client.of(workflowRuns).get({ name: "w", namespace });
  const workspace = await client
    .of(persistentWorkspaces)
    .create(childWorkspace({ owner: stored, job: { id: job, runsOn: "bash" }, jobAttempt: 1 }));
  const belonging = { owner: stored, job, jobAttempt: 1, runtime: "bash", step: "a" };
  const run: Run = {
    metadata: childMeta(`w-${job}-a`, "workflow-step", belonging),
    spec: { runtime: "bash", source: { inline: "true" }, workspace: { name: workspace.metadata.name } },
  };
  return run;
}

const codeOf = (write: Promise<unknown>): Promise<number> =>
  write.then(
    () => 201,
    (error: unknown) => (error instanceof StatusError ? error.code : 0),
  );

test("the holder of the token may use every workspace: there is no RBAC here", async () => {
  const { client, user } = arrange();
  const spec = { runtime: "bash", mode: "RuntimePodLocal" } as const;
  await client.of(persistentWorkspaces).create({ metadata: { name: "shared", namespace }, spec });
  const run: Run = {
    metadata: { name: "r", namespace },
    spec: { runtime: "bash", source: { inline: "true" }, workspace: { name: "shared" } },
  };
  expect(await codeOf(user.of(runs).create(run))).toBe(201);
});

test("the controller proves that a workspace is that of its job, here as in a cluster", async () => {
  const { client, controller } = arrange();
  await client.of(workflowRuns).create(owner);
  const build = await jobOf(client, "build");
  const deploy = await jobOf(client, "deploy");
  expect(await codeOf(controller.of(runs).create(build))).toBe(201);
  const crossed = { ...deploy, spec: { ...deploy.spec, workspace: build.spec.workspace } } as Run;
  expect(await codeOf(controller.of(runs).create(crossed))).toBe(403);
  expect(await codeOf(controller.of(runs).create(deploy))).toBe(201);
});

test("when the review fails the Run is refused for the moment", async () => {
  const { api, client, user } = arrange();
  const spec = { runtime: "bash", mode: "RuntimePodLocal" } as const;
  await client.of(persistentWorkspaces).create({ metadata: { name: "shared", namespace }, spec });
  api.faults.onRequest = ({ resource }) => (resource.startsWith("subjectaccessreviews") ? { kind: "lost" } : undefined);
  const run: Run = {
    metadata: { name: "r", namespace },
    spec: { runtime: "bash", source: { inline: "true" }, workspace: { name: "shared" } },
  };
  expect(await codeOf(user.of(runs).create(run))).toBe(503);
  expect((await client.of(runs).list({ namespace })).items).toEqual([]);
});

const path = `/apis/kruntimes.io/v1alpha1/namespaces/${namespace}`;
const using = { "runs-on": "bash", steps: [{ name: "a", uses: "checkout" }] };

test("a Workflow may come before the Action that it uses, with a warning; a WorkflowRun may not", async () => {
  const { api, client } = arrange();
  const body = {
    apiVersion: "kruntimes.io/v1alpha1",
    kind: "Workflow",
    metadata: { name: "ci" },
    spec: { jobs: { build: using } },
  };
  const created = await api.execute({ method: "POST", path: `${path}/workflows`, body });
  expect([created.code, created.warnings]).toEqual([
    201,
    ['spec.jobs.build.steps[0].uses: there is no Action "checkout"'],
  ]);
  const run = (spec: WorkflowRun["spec"]) =>
    client.of(workflowRuns).create({ metadata: { name: "r", namespace }, spec });
  await expect(run({ jobs: { build: using } })).rejects.toThrow(
    'spec.jobs.build.steps[0].uses: Forbidden: there is no Action "checkout"',
  );
  await expect(run({ workflowRef: { name: "ci" } })).rejects.toThrow(
    /spec\.workflowRef\.name: .*Workflow ci does not compile/,
  );
  await client
    .of(actions)
    .create({ metadata: { name: "checkout", namespace }, spec: { steps: [{ name: "s", run: "true" }] } });
  await run({ workflowRef: { name: "ci" } });
  const changed = { spec: { jobs: { build: { ...using, "runs-on": "other" } } } };
  const contentType = "application/merge-patch+json";
  const patched = await api.execute({ method: "PATCH", path: `${path}/workflows/ci`, body: changed, contentType });
  expect(patched.warnings).toEqual([]);
});
