/** Who may run in which workspace, decided by a real API server with RBAC, for people who are impersonated. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import type { PersistentWorkspace } from "#api/kinds/persistent-workspace.ts";
import type { Run } from "#api/kinds/run.ts";
import type { WorkflowRun } from "#api/kinds/workflow-run.ts";
import { labels } from "#api/labels.ts";
import { persistentWorkspaces, runs, workflowRuns } from "#api/resources.ts";
import type { Client } from "#kube/resource.ts";
import { StatusError } from "#kube/transport.ts";
import { bashRun, bashRuntime, clientAs, finished, installPlatform, readyRuntime, usernameOf } from "./platform.ts";
import { adminClient, apply, attempt, kubectl, testNamespace, until } from "./support.ts";

beforeAll(() => installPlatform());

const example = () => readFile(join(import.meta.dirname, "../../examples/workspace-permissions/rights.yaml"), "utf8");

const ann = () => clientAs({ user: "ann", groups: ["developers"] });
const bob = () => clientAs({ user: "bob", groups: ["developers"] });
const controller = () => clientAs({ user: usernameOf("controller"), groups: ["system:serviceaccounts"] });

const inWorkspace = (namespace: string, name: string, workspace: string, runtime = "bash") =>
  bashRun(namespace, name, "true", { workspace: { name: workspace }, runtime });

/** What the API server answers: 201, or the code and the text of its refusal. */
async function answer(client: Client, run: Run): Promise<{ code: number; text: string }> {
  try {
    await client.of(runs).create(run);
    return { code: 201, text: "" };
  } catch (error) {
    if (!(error instanceof StatusError)) throw error;
    return { code: error.code, text: error.message };
  }
}

/** Rights take a moment until every part of the API server has them. */
const allowed = (client: Client, run: (attempt: number) => Run) => {
  let attempts = 0;
  return expect
    .poll(async () => (await answer(client, run(attempts++))).code, { timeout: 10_000, interval: 200 })
    .toBe(201);
};

test("the roles of the example: by name, by group, and nothing for everybody else", async () => {
  await using namespace = await testNamespace("use");
  const { name: n } = namespace;
  await apply(await example(), n);
  await allowed(ann(), (attempt) => inWorkspace(n, `ann-${attempt}`, "reports"));
  expect(await answer(ann(), inWorkspace(n, "ann-releases", "releases"))).toMatchObject({
    code: 403,
    text: expect.stringContaining(
      `runs.kruntimes.io "ann-releases" is forbidden: user "ann" may not use PersistentWorkspace releases in namespace ${n}; it takes the verb "use" on persistentworkspaces/use`,
    ),
  });
  // As the guide has it.
  const asks = ["auth", "can-i", "use", "persistentworkspaces.kruntimes.io/reports", "--subresource=use", "-n", n];
  expect((await attempt("kubectl", [...asks, "--as=ann"])).stdout).toBe("yes\n");
  expect((await attempt("kubectl", [...asks, "--as=bob"])).stdout).toBe("no\n");
  // The right to create Runs alone is not enough, and is enough for Runs without a workspace.
  expect(await answer(bob(), inWorkspace(n, "bob", "reports"))).toMatchObject({ code: 403 });
  expect(await answer(bob(), bashRun(n, "bob-without", "true"))).toMatchObject({ code: 201 });
  // The review is asked with the groups of the requester.
  await kubectl(["create", "rolebinding", "release-run", "-n", n, "--role=run-author", "--group=release"]);
  const releaser = clientAs({ user: "carl", groups: ["release"] });
  for (const workspace of ["reports", "releases"]) {
    await allowed(releaser, (attempt) => inWorkspace(n, `carl-${workspace}-${attempt}`, workspace));
  }
});

test("a right in one namespace is none in another one, and a reference never leaves its namespace", async () => {
  await using here = await testNamespace("use-here");
  await using there = await testNamespace("use-there");
  await apply(await example(), here.name);
  await apply(await example(), there.name);
  await kubectl(["delete", "rolebinding", "ann-uses-reports", "-n", there.name]);
  await allowed(ann(), (attempt) => inWorkspace(here.name, `ann-${attempt}`, "reports"));
  expect(await answer(ann(), inWorkspace(there.name, "ann", "reports"))).toMatchObject({ code: 403 });
  await kubectl(["delete", "persistentworkspace", "reports", "-n", here.name, "--wait=false"]);
});

test("a missing workspace and one of another Runtime are refused with the path of the field, whoever asks", async () => {
  await using namespace = await testNamespace("use-missing");
  await apply(await example(), namespace.name);
  for (const client of [adminClient(), controller()]) {
    const missing = await answer(client, inWorkspace(namespace.name, "a", "nowhere"));
    expect(missing).toMatchObject({ code: 422, text: expect.stringContaining("spec.workspace.name: there is no") });
    const other = await answer(client, inWorkspace(namespace.name, "a", "reports", "python"));
    expect(other).toMatchObject({ code: 422, text: expect.stringContaining("belongs to Runtime bash") });
  }
});

test("who has the role edit of a namespace may use its workspaces; ServiceAccounts get the right like people", async () => {
  await using namespace = await testNamespace("use-edit");
  const { name: n } = namespace;
  await apply(await example(), n);
  await kubectl(["create", "rolebinding", "dora", "-n", n, "--clusterrole=edit", "--user=dora"]);
  await allowed(clientAs({ user: "dora" }), (attempt) => inWorkspace(n, `dora-${attempt}`, "releases"));
  const account = `system:serviceaccount:${n}:builder`;
  const builder = clientAs({ user: account, groups: ["system:serviceaccounts"] });
  await kubectl(["create", "rolebinding", "builder", "-n", n, "--role=run-author", `--user=${account}`]);
  await allowed(builder, (attempt) => bashRun(n, `builder-${attempt}`, "true"));
  expect(await answer(builder, inWorkspace(n, "builder", "reports"))).toMatchObject({ code: 403 });
  await kubectl(["create", "rolebinding", "builder-uses", "-n", n, "--role=use-reports", `--user=${account}`]);
  await allowed(builder, (attempt) => inWorkspace(n, `builder-reports-${attempt}`, "reports"));
});

test("there is no way around: apply, server-side apply, generated names and rehearsals are reviewed", async () => {
  await using namespace = await testNamespace("use-ways");
  const { name: n } = namespace;
  await apply(await example(), n);
  await kubectl(["create", "role", "apply", "-n", n, "--verb=create,get,patch,update", "--resource=runs.kruntimes.io"]);
  await kubectl(["create", "rolebinding", "apply", "-n", n, "--role=apply", "--user=bob"]);
  await allowed(bob(), (attempt) => bashRun(n, `bob-${attempt}`, "true"));
  const named = inWorkspace(n, "bob", "reports");
  const { name: _, ...metadata } = named.metadata;
  const generated = { ...named, metadata: { ...metadata, generateName: "bob-" } };
  const ways: readonly (readonly [string[], object])[] = [
    [["apply"], named],
    [["apply", "--server-side"], named],
    [["create"], generated],
    [["create", "--dry-run=server"], named],
  ];
  for (const [args, object] of ways) {
    const refused = await attempt("kubectl", [...args, "-f", "-", "--as=bob"], { input: JSON.stringify(object) });
    expect(refused.code, args.join(" ")).toBe(1);
    expect(refused.stderr, args.join(" ")).toContain('user "bob" may not use PersistentWorkspace reports');
  }
  // Nor afterwards: the CRD itself refuses it, also for an administrator.
  const patch = { spec: { workspace: { name: "reports" } } };
  const later = await attempt("kubectl", [
    "patch",
    "run",
    "bob-0",
    "-n",
    n,
    "--type=merge",
    `-p=${JSON.stringify(patch)}`,
  ]);
  expect(later.stderr).toContain("workspace cannot be changed; create a new object instead");
});

interface Job {
  readonly owner: WorkflowRun;
  readonly workspace: PersistentWorkspace;
}

/** A WorkflowRun with two jobs that wait for a Runtime that never comes; the controller has made their workspaces. */
async function twoJobs(admin: Client, namespace: string): Promise<Readonly<Record<"build" | "deploy", Job>>> {
  const job = { "runs-on": "nobody", steps: [{ name: "a", run: "true" }] };
  const created = await admin.of(workflowRuns).create({
    metadata: { name: "w", namespace },
    spec: { jobs: { build: job, deploy: job } },
  });
  const workspaceOf = async (id: string): Promise<Job> => {
    let found: PersistentWorkspace | undefined;
    await expect
      .poll(
        async () => {
          const labelSelector = `${labels.workflowRunUID}=${created.metadata.uid},${labels.job}=${id}`;
          const { items } = await admin.of(persistentWorkspaces).list({ namespace, labelSelector });
          found = items[0];
          return found === undefined;
        },
        { timeout: 20_000, interval: 200 },
      )
      .toBe(false);
    if (found === undefined) throw new Error(`job ${id} has no workspace`);
    return { owner: created, workspace: found };
  };
  return { build: await workspaceOf("build"), deploy: await workspaceOf("deploy") };
}

/** A Run that looks like a child of the job to which the workspace belongs. */
const childOf = ({ workspace }: Job, name: string, change: Partial<Run["metadata"]> = {}): Run => {
  const { namespace = "", labels: own, ownerReferences } = workspace.metadata;
  const run = inWorkspace(namespace, name, workspace.metadata.name, "nobody");
  return {
    ...run,
    metadata: { ...run.metadata, labels: { ...own }, ownerReferences: [...(ownerReferences ?? [])], ...change },
  };
};

test("the controller needs no right: it proves that a workspace is that of the job, and can do nothing else", async () => {
  const admin = adminClient();
  await using namespace = await testNamespace("use-controller");
  const { name: n } = namespace;
  await apply(await example(), n);
  const { build, deploy } = await twoJobs(admin, n);
  const cannot = await attempt("kubectl", [
    "auth",
    "can-i",
    "use",
    "persistentworkspaces.kruntimes.io",
    "--subresource=use",
    "-n",
    n,
    `--as=${usernameOf("controller")}`,
  ]);
  expect(cannot.stdout.trim()).toBe("no");

  expect(await answer(controller(), childOf(build, "child"))).toMatchObject({ code: 201 });

  const cross = { ...childOf(deploy, "cross"), spec: childOf(build, "cross").spec };
  const stale = (build.workspace.metadata.ownerReferences ?? []).map((reference) => ({
    ...reference,
    uid: "00000000-0000-4000-8000-000000000000",
  }));
  const refused: Record<string, [Run, string]> = {
    "another job's workspace": [cross, "is not that of one job"],
    "no owner": [childOf(build, "x", { ownerReferences: [] }), "the Run has no WorkflowRun as its controller"],
    "a stale owner": [childOf(build, "x", { ownerReferences: stale }), "belong to different WorkflowRuns"],
    "no labels": [childOf(build, "x", { labels: {} }), "is not the UID of the WorkflowRun"],
    "a user's workspace": [inWorkspace(n, "x", "reports"), "the Run has no WorkflowRun as its controller"],
  };
  for (const [what, [run, says]] of Object.entries(refused)) {
    expect(await answer(controller(), run), what).toMatchObject({ code: 403, text: expect.stringContaining(says) });
  }
});

test("copied labels and owner references give nobody else the controller's way", async () => {
  const admin = adminClient();
  await using namespace = await testNamespace("use-copied");
  const { name: n } = namespace;
  await apply(await example(), n);
  const { build } = await twoJobs(admin, n);
  await allowed(ann(), (attempt) => bashRun(n, `ann-${attempt}`, "true"));
  expect(await answer(ann(), childOf(build, "copied"))).toMatchObject({
    code: 403,
    text: expect.stringContaining(`user "ann" may not use PersistentWorkspace ${build.workspace.metadata.name}`),
  });
  // With the right it is an ordinary use.
  await kubectl(["create", "rolebinding", "ann-all", "-n", n, "--role=use-all-workspaces", "--user=ann"]);
  await allowed(ann(), (attempt) => childOf(build, `copied-${attempt}`));
});

test("end to end: two people share files by a workspace that a third one cannot reach, and a workflow needs no right", async () => {
  const admin = adminClient();
  await using namespace = await testNamespace("use-share");
  const { name: n } = namespace;
  await apply(await example(), n);
  await kubectl(["create", "rolebinding", "erik-uses", "-n", n, "--role=use-reports", "--user=erik"]);
  await readyRuntime(admin, bashRuntime(n, { replicas: 2 }));
  const script = (client: Client, name: string, text: string) =>
    client.of(runs).create(bashRun(n, name, text, { workspace: { name: "reports" } }));
  await allowed(clientAs({ user: "erik", groups: ["developers"] }), (attempt) =>
    inWorkspace(n, `erik-${attempt}`, "reports"),
  );
  expect((await finished(admin, await script(ann(), "writer", "echo 42 > answer"))).status?.phase).toBe("Succeeded");
  const erik = clientAs({ user: "erik", groups: ["developers"] });
  const read = await finished(admin, await script(erik, "reader", 'test "$(cat answer)" = 42'));
  expect(read.status?.phase).toBe("Succeeded");
  await expect(script(bob(), "thief", "cat answer")).rejects.toMatchObject({ code: 403 });

  const step = (name: string, run: string) => ({ name, run });
  const jobs = { job: { "runs-on": "bash", steps: [step("write", "echo 1 > a"), step("read", "test -f a")] } };
  const run = await admin.of(workflowRuns).create({ metadata: { name: "flow", namespace: n }, spec: { jobs } });
  const ended = await until(admin, workflowRuns, run.metadata, ({ status }) => status?.completionTime !== undefined);
  expect(ended.status?.phase, JSON.stringify(ended.status?.jobs)).toBe("Succeeded");
});
