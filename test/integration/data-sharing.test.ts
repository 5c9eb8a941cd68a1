import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { WorkflowRun } from "#api/kinds/workflow-run.ts";
import { persistentWorkspaces, runs, runtimes, workflowRuns } from "#api/resources.ts";
import { StatusError } from "#kube/transport.ts";
import { bashRun, bashRuntime, namespace, TestCluster, workflowRun } from "./support/cluster.ts";

let cluster: TestCluster;
beforeAll(async () => {
  cluster = await TestCluster.start();
  await cluster.apply("examples/data-sharing/runtime.yaml");
  await cluster.apply("examples/data-sharing/workflow.yaml");
  await cluster.ready("bash", 2);
});
afterAll(() => cluster.stop());

const step = (name: string, run: string, more: object = {}) => ({ name, run, ...more });

async function refusal(creating: Promise<unknown>): Promise<string> {
  try {
    await creating;
  } catch (error) {
    if (error instanceof StatusError) return error.message;
    throw error;
  }
  throw new Error("it was not refused");
}

function firstRun(run: WorkflowRun, job: string): string {
  return run.status?.jobs?.[job]?.steps?.[0]?.runName ?? "";
}

test("the workflow of the specification runs to its end: shared files, an output, an artifact with its digest", async () => {
  await cluster.create(workflowRuns, {
    metadata: { name: "demo", namespace },
    spec: { workflowRef: { name: "ci-data-sharing-demo" } },
  });
  const ended = await cluster.workflowFinished("demo");
  expect(ended.status).toMatchObject({ phase: "Succeeded", progress: "2/2" });
  const build = ended.status?.jobs?.build;
  expect(build?.steps?.find(({ name }) => name === "test")?.outputs).toEqual({ tests: "passed" });
  const artifact = build?.artifacts?.["dist.tgz"];
  expect(artifact).toMatchObject({ driver: "Filesystem", type: "File" });
  const stored = await readFile(
    `${cluster.directory}/claims/${namespace}/artifacts/${artifact?.location.filesystem?.path}`,
  );
  expect(artifact?.sizeBytes).toBe(stored.length);
  expect(artifact?.digest).toBe(`sha256:${createHash("sha256").update(stored).digest("hex")}`);
});

test("later edits of the Workflow do not reach a run that has begun: it has a frozen copy", async () => {
  const demo = await cluster.get(workflowRuns, "demo");
  expect(demo.status?.snapshotRef?.name).toMatch(/^demo-snapshot-[0-9a-f]{8}$/);
});

test("the status of a workflow shows no binding details; those are on the workspace", async () => {
  const demo = await cluster.get(workflowRuns, "demo");
  const { items } = await cluster.client.of(persistentWorkspaces).list({ namespace });
  const build = items.find(({ metadata }) => metadata.name.startsWith("demo-build-"));
  expect(build?.status).toMatchObject({ phase: "Bound", path: `/workspace/persistent/${build?.metadata.name}` });
  expect(JSON.stringify(demo.status)).not.toContain(build?.status?.boundPod ?? "");
});

test("three steps of one job share files and run on one Pod", async () => {
  await cluster.create(
    workflowRuns,
    workflowRun("shared", {
      job: {
        "runs-on": "bash",
        steps: [
          step("one", "echo 1 > a"),
          step("two", "cat a; echo 2 >> a"),
          step("three", 'test "$(cat a)" = "1\n2"'),
        ],
      },
    }),
  );
  const ended = await cluster.workflowFinished("shared");
  expect(ended.status?.phase).toBe("Succeeded");
  const names = ended.status?.jobs?.job?.steps?.map(({ runName }) => runName ?? "") ?? [];
  const placed = await Promise.all(names.map(async (name) => (await cluster.get(runs, name)).status?.assignedPod));
  expect(placed).toHaveLength(3);
  expect(new Set(placed).size).toBe(1);
});

test("a job of many parallel ones gets the artifact of another on any Pod", async () => {
  const consumers = Object.fromEntries(
    Array.from({ length: 6 }, (_, n) => [
      `take${n}`,
      {
        "runs-on": "bash",
        needs: ["make"],
        steps: [
          step("check", 'test "$(cat in/data)" = payload && test -x in/tool', {
            artifacts: [{ from: "jobs.make.artifacts.tree", path: "in" }],
          }),
        ],
      },
    ]),
  );
  await cluster.create(
    workflowRuns,
    workflowRun("fan", {
      make: {
        "runs-on": "bash",
        steps: [
          step(
            "write",
            'mkdir "$KRUNTIME_ARTIFACTS_DIR/tree" && cd "$KRUNTIME_ARTIFACTS_DIR/tree" && echo payload > data && echo x > tool && chmod +x tool',
          ),
        ],
      },
      ...consumers,
    }),
  );
  const ended = await cluster.workflowFinished("fan");
  expect(ended.status).toMatchObject({ phase: "Succeeded", progress: "7/7" });
  const pods = await Promise.all(
    Object.keys(consumers).map(async (job) => (await cluster.get(runs, firstRun(ended, job))).status?.assignedPod),
  );
  expect(new Set(pods).size).toBe(2);
});

test("a missing artifact fails the job at once and lists what there is", async () => {
  await cluster.create(
    workflowRuns,
    workflowRun("missing", {
      make: { "runs-on": "bash", steps: [step("write", 'touch "$KRUNTIME_ARTIFACTS_DIR/present.txt"')] },
      take: {
        "runs-on": "bash",
        needs: ["make"],
        steps: [step("use", "true", { artifacts: [{ from: "jobs.make.artifacts.absent.txt", path: "x" }] })],
      },
    }),
  );
  const ended = await cluster.workflowFinished("missing");
  expect(ended.status).toMatchObject({ phase: "Failed", reason: "ArtifactMissing" });
  expect(ended.status?.jobs?.take?.message).toContain("present.txt");
  expect(ended.status?.jobs?.take?.steps ?? []).toEqual([]);
});

test("artifacts of a job that is no direct need are refused at creation, with the path of the field", async () => {
  const message = await refusal(
    cluster.create(
      workflowRuns,
      workflowRun("indirect", {
        a: { "runs-on": "bash", steps: [step("x", "true")] },
        b: { "runs-on": "bash", needs: ["a"], steps: [step("x", "true")] },
        c: {
          "runs-on": "bash",
          needs: ["b"],
          steps: [step("x", "true", { artifacts: [{ from: "jobs.a.artifacts.f", path: "f" }] })],
        },
      }),
    ),
  );
  expect(message).toContain("spec.jobs.c.steps[0].artifacts[0].from");
  expect(message).toContain("needs");
});

test("outputs go from step to step and from job to job", async () => {
  await cluster.create(
    workflowRuns,
    workflowRun("outputs", {
      one: {
        "runs-on": "bash",
        outputs: { tag: "v${{ steps.make.outputs.number }}" },
        steps: [
          step("make", 'printf "number=7\\n" >> "$KRUNTIME_OUTPUTS"'),
          step("check", "test '${{ steps.make.outputs.number }}' = 7"),
        ],
      },
      two: { "runs-on": "bash", needs: ["one"], steps: [step("check", 'test "${{ needs.one.outputs.tag }}" = v7')] },
    }),
  );
  const ended = await cluster.workflowFinished("outputs");
  expect(ended.status?.phase).toBe("Succeeded");
});

test("a failing step fails its job, skips the next and shows exit code and the end of stderr", async () => {
  await cluster.create(
    workflowRuns,
    workflowRun("failing", {
      a: { "runs-on": "bash", steps: [step("bad", "echo oh no >&2; exit 3"), step("after", "true")] },
      b: { "runs-on": "bash", needs: ["a"], steps: [step("x", "true")] },
    }),
  );
  const { status } = await cluster.workflowFinished("failing");
  expect(status).toMatchObject({ phase: "Failed", reason: "JobFailed" });
  expect(status?.jobs?.a?.steps).toMatchObject([
    { phase: "Failed", reason: "ExitNonZero", exitCode: 3 },
    { phase: "Skipped" },
  ]);
  expect(status?.jobs?.a?.steps?.[0]?.message).toContain("oh no");
  expect(status?.jobs?.b).toMatchObject({ phase: "Skipped", reason: "NeedsNotSucceeded" });
});

test("a step ends at the first command that fails", async () => {
  await cluster.create(
    workflowRuns,
    workflowRun("strict", { a: { "runs-on": "bash", steps: [step("x", "false\necho never")] } }),
  );
  expect((await cluster.workflowFinished("strict")).status?.phase).toBe("Failed");
});

test("a Run that names no workspace that exists is refused at creation", async () => {
  const message = await refusal(cluster.create(runs, bashRun("homeless", "true", { workspace: { name: "nowhere" } })));
  expect(message).toContain("spec.workspace.name");
  expect(message).toContain("Create it before the Run");
});

test("a Run of another Runtime than its workspace's is refused at creation", async () => {
  await cluster.create(persistentWorkspaces, { metadata: { name: "of-bash", namespace }, spec: { runtime: "bash" } });
  const run = bashRun("stranger", "true", { workspace: { name: "of-bash" } });
  const message = await refusal(cluster.create(runs, { ...run, spec: { ...run.spec, runtime: "python" } }));
  expect(message).toContain("belongs to Runtime bash");
});

test("Runs that share a workspace see each other's files; what the platform puts there stays under .kruntimes", async () => {
  await cluster.create(persistentWorkspaces, { metadata: { name: "ws", namespace }, spec: { runtime: "bash" } });
  const run = (name: string, script: string) => bashRun(name, script, { workspace: { name: "ws" } });
  await cluster.create(runs, run("writer", 'echo mine > shared.txt; echo out=1 >> "$KRUNTIME_OUTPUTS"'));
  expect((await cluster.finished("writer")).status?.phase).toBe("Succeeded");
  await cluster.create(runs, run("reader", 'cat shared.txt; test "$(ls -A)" = ".kruntimes\nshared.txt"'));
  expect((await cluster.finished("reader")).status?.phase).toBe("Succeeded");
  const workspace = await cluster.until(persistentWorkspaces, "ws", (one) => one.status?.lastUsedTime !== undefined);
  expect(workspace.status?.path).toBe("/workspace/persistent/ws");
});

test("deleting a workspace removes exactly its directory and then the object", async () => {
  const workspace = await cluster.get(persistentWorkspaces, "ws");
  const pod = (await cluster.pods("bash")).find(({ metadata }) => metadata.name === workspace.status?.boundPod);
  const directory = `${cluster.directory}/pods/${pod?.metadata.uid}/workspace/persistent`;
  expect(await readFile(`${directory}/ws/shared.txt`, "utf8")).toBe("mine\n");
  await cluster.client.of(persistentWorkspaces).delete({ name: "ws", namespace });
  await expect
    .poll(
      () =>
        cluster.get(persistentWorkspaces, "ws").then(
          () => "there",
          () => "gone",
        ),
      { timeout: 10_000 },
    )
    .toBe("gone");
  await expect(readFile(`${directory}/ws/shared.txt`)).rejects.toThrow("ENOENT");
});

test("artifacts on a Runtime without a store are a clear failure, not a loss", async () => {
  const { artifactStore: _, ...spec } = bashRuntime().spec;
  await cluster.create(runtimes, { metadata: { name: "bare", namespace }, spec });
  await cluster.ready("bare", 1);
  await cluster.create(runs, {
    metadata: { name: "bare", namespace },
    spec: { runtime: "bare", source: { inline: 'touch "$KRUNTIME_ARTIFACTS_DIR/x"' } },
  });
  const { status } = await cluster.finished("bare");
  expect(status).toMatchObject({ phase: "Failed", reason: "ArtifactInvalid" });
  expect(status?.message).toContain("Runtime bare has no artifactStore");
});
