/** The workspaces and artifacts of jobs, with real programs: whose they are, how long they stay, and which artifact of a name counts. */
import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { PersistentWorkspace } from "#api/kinds/persistent-workspace.ts";
import type { WorkflowActionSpec } from "#api/kinds/workflow-action.ts";
import type { WorkflowRun } from "#api/kinds/workflow-run.ts";
import { labels } from "#api/labels.ts";
import {
  actions,
  persistentWorkspaces,
  runs,
  runtimes,
  workflowActions,
  workflowRuns,
  workflows,
} from "#api/resources.ts";
import { persistentVolumeClaims } from "#kube/builtin.ts";
import { bashRuntime, claim, namespace, TestCluster, workflowRun } from "./support/cluster.ts";

const jobWorkspaceTtlSeconds = 1;

let cluster: TestCluster;
let outside: string;
beforeAll(async () => {
  outside = await mkdtemp(join(tmpdir(), "krt-test-"));
  cluster = await TestCluster.start({ jobWorkspaceTtlSeconds });
  await cluster.create(persistentVolumeClaims, claim);
  await cluster.create(runtimes, bashRuntime({ replicas: 2 }));
  await cluster.ready("bash", 2);
});
afterAll(async () => {
  await cluster?.stop();
  await rm(outside, { recursive: true, force: true });
});

const step = (name: string, run: string, more: object = {}) => ({ name, run, ...more });
const job = (...steps: object[]) => ({ "runs-on": "bash", steps: steps as ReturnType<typeof step>[] });

async function workspacesOf({ metadata }: WorkflowRun): Promise<PersistentWorkspace[]> {
  const labelSelector = `${labels.workflowRunUID}=${metadata.uid}`;
  return (await cluster.client.of(persistentWorkspaces).list({ namespace, labelSelector })).items;
}

/** Resolves when a job that has ended only now has lost its files: whatever waits since before has waited longer than the TTL. */
async function outlastTtl(name: string): Promise<void> {
  await cluster.create(workflowRuns, workflowRun(name, { brief: job(step("one", "touch file")) }));
  const ended = await cluster.workflowFinished(name);
  await expect.poll(async () => (await workspacesOf(ended)).length, { timeout: 20_000 }).toBe(0);
}

const act = (name: string, target: string, action: WorkflowActionSpec["action"]) =>
  cluster.create(workflowActions, { metadata: { name, namespace }, spec: { workflowRef: { name: target }, action } });

test("the files of a job that a gate holds longer than the TTL are there when it goes on", async () => {
  const steps = [
    step("write", "echo kept > file"),
    { name: "gate", suspend: {} },
    step("read", "test $(cat file) = kept"),
  ];
  const made = await cluster.create(workflowRuns, workflowRun("gated", { held: job(...steps) }));
  await cluster.until(workflowRuns, "gated", ({ status }) => status?.jobs?.held?.phase === "Suspended");
  await outlastTtl("after-gated");
  expect((await workspacesOf(made)).map(({ spec, status }) => [status?.phase, spec.ttlSecondsAfterUnused])).toEqual([
    ["Bound", undefined],
  ]);
  await act("open", "gated", "Resume");
  expect((await cluster.workflowFinished("gated")).status?.phase).toBe("Succeeded");
  await expect.poll(async () => (await workspacesOf(made)).length, { timeout: 20_000 }).toBe(0);
});

test("the files of a job that is suspended longer than the TTL are there when it goes on", async () => {
  const waits = `echo kept > file; touch ${outside}/begun; until test -e ${outside}/end; do sleep 0.05; done`;
  await cluster.create(
    workflowRuns,
    workflowRun("stopped", { held: job(step("write", waits), step("read", "test $(cat file) = kept")) }),
  );
  await expect.poll(() => existsSync(`${outside}/begun`), { timeout: 20_000 }).toBe(true);
  await act("suspend", "stopped", "Suspend");
  await cluster.until(workflowRuns, "stopped", ({ status }) => status?.suspended === true);
  await writeFile(`${outside}/end`, "");
  await cluster.until(workflowRuns, "stopped", ({ status }) => status?.jobs?.held?.steps?.[0]?.phase === "Succeeded");
  await outlastTtl("after-stopped");
  expect((await cluster.get(workflowRuns, "stopped")).status?.jobs?.held?.steps?.[1]?.phase).toBe("Waiting");
  await act("resume", "stopped", "Resume");
  expect((await cluster.workflowFinished("stopped")).status?.phase).toBe("Succeeded");
});

test("a job that is a Workflow has no workspace: its WorkflowRun owns those of its jobs", async () => {
  const looked = `until test -e ${outside}/looked; do sleep 0.05; done`;
  await cluster.create(workflows, {
    metadata: { name: "inner", namespace },
    spec: {
      jobs: {
        one: job(step("write", `echo mine > file; ${looked}`), step("read", "test $(cat file) = mine")),
        two: job(step("look", `${looked}; test ! -e file`)),
      },
    },
  });
  const outer = await cluster.create(
    workflowRuns,
    workflowRun("outer", { own: job(step("wait", looked)), call: { uses: "inner" } }),
  );
  const childName = ({ status }: WorkflowRun) => status?.jobs?.call?.workflowRunName;
  const called = await cluster.until(workflowRuns, "outer", (run) => childName(run) !== undefined);
  const isRunning = ({ status }: WorkflowRun) =>
    ["one", "two"].every((id) => status?.jobs?.[id]?.steps?.[0]?.startTime !== undefined);
  const child = await cluster.until(workflowRuns, childName(called) ?? "", isRunning);
  await cluster.until(workflowRuns, "outer", ({ status }) => status?.jobs?.own?.steps?.[0]?.startTime !== undefined);
  const ownedBy = async (owner: WorkflowRun) =>
    (await workspacesOf(owner)).map(({ metadata }) => [
      metadata.labels?.[labels.job],
      metadata.ownerReferences?.map(({ uid, controller }) => controller === true && uid === owner.metadata.uid),
    ]);
  expect(await ownedBy(outer)).toEqual([["own", [true]]]);
  expect((await ownedBy(child)).sort()).toEqual([
    ["one", [true]],
    ["two", [true]],
  ]);
  await writeFile(`${outside}/looked`, "");
  expect((await cluster.workflowFinished("outer")).status).toMatchObject({ phase: "Succeeded", progress: "2/2" });
});

test("each instance of a matrix and each attempt of a job has a workspace of its own", async () => {
  const alone = 'test ! -e file && echo "${{ strategy.job-index }}" > file';
  const once = `test ! -e file; touch file; test -e ${outside}/second || { touch ${outside}/second; exit 1; }`;
  const made = await cluster.create(
    workflowRuns,
    workflowRun("own", {
      many: {
        ...job(step("one", alone), step("two", 'test "$(cat file)" = "${{ strategy.job-index }}"')),
        strategy: { matrix: { n: [1, 2, 3] } },
      },
      again: { ...job(step("one", once)), retry: { attempts: 2, backoff: "0s" } },
    }),
  );
  const ended = await cluster.workflowFinished("own");
  expect(ended.status).toMatchObject({ phase: "Succeeded", jobs: { again: { attempt: 2 } } });
  const names = new Set<string>();
  const labelSelector = `${labels.workflowRunUID}=${made.metadata.uid}`;
  for (const { spec } of (await cluster.client.of(runs).list({ namespace, labelSelector })).items)
    names.add(spec.workspace?.name ?? "");
  expect(names.size).toBe(5);
});

test("the steps of an Action, also without `with`, work in the workspace of the job that uses it", async () => {
  await cluster.create(actions, {
    metadata: { name: "add", namespace },
    spec: {
      inputs: { text: { default: "plain" } },
      steps: [step("write", 'echo "${{ inputs.text }}" >> file'), step("count", "wc -l < file > lines")],
    },
  });
  const made = await cluster.create(
    workflowRuns,
    workflowRun("acting", {
      work: job(
        step("own", "echo own > file"),
        { name: "bare", uses: "add" },
        { name: "said", uses: "add", with: { text: "said" } },
        step("read", 'test "$(cat file)" = "own\nplain\nsaid" && test $(cat lines) = 3'),
      ),
    }),
  );
  const ended = await cluster.workflowFinished("acting");
  expect(ended.status, JSON.stringify(ended.status?.jobs)).toMatchObject({ phase: "Succeeded" });
  const labelSelector = `${labels.workflowRunUID}=${made.metadata.uid}`;
  const { items } = await cluster.client.of(runs).list({ namespace, labelSelector });
  expect(items).toHaveLength(6);
  expect(new Set(items.map(({ spec }) => spec.workspace?.name)).size).toBe(1);
});

test("of several artifacts of a name the consumer gets that of the last step that succeeded, whichever step made the others", async () => {
  const leave = (text: string, file = "x") => `echo ${text} > "$KRUNTIME_ARTIFACTS_DIR/${file}"`;
  await cluster.create(
    workflowRuns,
    workflowRun("names", {
      make: job(
        step("first", `${leave("first")}; ${leave("alone", "y")}`),
        step("second", leave("second")),
        step("failing", `${leave("third")}; exit 1`, { "continue-on-error": true }),
        step("last", "true"),
      ),
      take: {
        ...job(
          step("check", 'test "$(cat x y)" = "second\nalone"', {
            artifacts: ["x", "y"].map((path) => ({ from: `jobs.make.artifacts.${path}`, path })),
          }),
        ),
        needs: ["make"],
      },
    }),
  );
  const { status } = await cluster.workflowFinished("names");
  expect(status, JSON.stringify(status?.jobs)).toMatchObject({ phase: "Succeeded" });
  const second = await cluster.get(runs, status?.jobs?.make?.steps?.[1]?.runName ?? "");
  expect(status?.jobs?.make?.artifacts?.x?.location.filesystem?.path).toBe(`runs/${second.metadata.uid}/artifacts/x`);
});

test("jobs whose Runtimes have no store in common: the consumer fails before its first Run exists, and says so", async () => {
  await cluster.create(persistentVolumeClaims, { ...claim, metadata: { name: "other", namespace } });
  const other = { artifactStore: { driver: "Filesystem" as const, filesystem: { volumeClaimName: "other" } } };
  await cluster.create(runtimes, bashRuntime({ ...other, replicas: 0 }, "elsewhere"));
  const made = await cluster.create(
    workflowRuns,
    workflowRun("apart", {
      make: job(step("leave", 'touch "$KRUNTIME_ARTIFACTS_DIR/x"')),
      take: {
        ...job(
          step("first", "true"),
          step("use", "true", { artifacts: [{ from: "jobs.make.artifacts.x", path: "x" }] }),
        ),
        "runs-on": "elsewhere",
        needs: ["make"],
      },
    }),
  );
  const { status } = await cluster.workflowFinished("apart");
  expect(status?.jobs?.take).toMatchObject({
    phase: "Failed",
    reason: "ArtifactStoreMismatch",
    message: expect.stringContaining("keep artifacts in different places: claim artifacts and claim other"),
  });
  const labelSelector = `${labels.workflowRunUID}=${made.metadata.uid}`;
  expect((await cluster.client.of(runs).list({ namespace, labelSelector })).items).toHaveLength(1);
});
