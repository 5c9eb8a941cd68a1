/** The examples of the data-sharing specification, applied as they stand there, and what it says of their objects. */
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import type { PersistentWorkspace } from "#api/kinds/persistent-workspace.ts";
import type { Run } from "#api/kinds/run.ts";
import type { Runtime } from "#api/kinds/runtime.ts";
import type { WorkflowRun } from "#api/kinds/workflow-run.ts";
import { persistentWorkspaces, runs, runtimes, workflowRuns, workflows } from "#api/resources.ts";
import { parseTime } from "#api/time.ts";
import { persistentVolumeClaims } from "#kube/builtin.ts";
import { bashRun, bashRuntime, claim, namespace, TestCluster } from "./support/cluster.ts";

const runtimeText = `
apiVersion: kruntimes.io/v1alpha1
kind: Runtime
metadata:
  name: bash
spec:
  workspace:
    persistentVolumeClaim:
      claimName: bash-workspace
`;

const workspaceText = `
apiVersion: kruntimes.io/v1alpha1
kind: PersistentWorkspace
metadata:
  name: ci-build-workspace
spec:
  runtime: bash
  mode: RuntimePodLocal
  ttlSecondsAfterUnused: 3600
  cleanupPolicy: DeleteAfterTTL
`;

const runText = `
apiVersion: kruntimes.io/v1alpha1
kind: Run
metadata:
  name: ci-build-package
spec:
  runtime: bash
  workspace:
    name: ci-build-workspace
    kind: PersistentWorkspace
    apiGroup: kruntimes.io/v1alpha1
  source:
    inline: |
      tar -czf "$KRUNTIME_ARTIFACTS_DIR/dist.tgz" src
`;

const affinityText = `
spec:
  affinity:
    runAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
        - labelSelector:
            matchLabels:
              workflows.kruntimes.io/workflow: ci-data-sharing-demo
              workflows.kruntimes.io/job: build
          topologyKey: kruntimes.io/runtime-pod
`;

const workflowText = `
apiVersion: kruntimes.io/v1alpha1
kind: Workflow
metadata:
  name: ci-data-sharing-demo
spec:
  jobs:
    build:
      runs-on: bash
      steps:
        - name: checkout
          run: |
            mkdir -p src
            echo 'print("hello")' > src/app.py
        - name: test
          run: |
            test -f src/app.py
            echo "tests=passed" >> "$KRUNTIME_OUTPUTS"
        - name: package
          run: |
            mkdir -p "$KRUNTIME_ARTIFACTS_DIR"
            tar -czf "$KRUNTIME_ARTIFACTS_DIR/dist.tgz" src
    deploy:
      runs-on: bash
      needs:
        - build
      steps:
        - name: verify-artifact
          artifacts:
            - from: jobs.build.artifacts.dist.tgz
              path: dist.tgz
          run: |
            tar -tzf dist.tgz
            echo "artifact verified"
`;

let cluster: TestCluster;

/** What a text describes, in the namespace of the tests. */
function inNamespace<T extends { metadata: object }>(text: string): T {
  const object = parse(text) as T;
  return { ...object, metadata: { ...object.metadata, namespace } };
}

beforeAll(async () => {
  cluster = await TestCluster.start();
  await cluster.create(persistentVolumeClaims, claim);
  await cluster.create(persistentVolumeClaims, { ...claim, metadata: { name: "bash-workspace", namespace } });
  const runtime = inNamespace<Runtime>(runtimeText);
  // The text leaves out what every Runtime needs.
  await cluster.create(runtimes, { ...runtime, spec: { ...bashRuntime({ replicas: 2 }).spec, ...runtime.spec } });
  await cluster.ready("bash", 2);
});
afterAll(() => cluster?.stop());

const directory = () => `${cluster.directory}/claims/${namespace}/bash-workspace/persistent/ci-build-workspace`;

test("the PersistentWorkspace is bound as the text shows its status, and its directory is made by the first Run", async () => {
  await cluster.create(persistentWorkspaces, inNamespace<PersistentWorkspace>(workspaceText));
  const { status } = await cluster.until(
    persistentWorkspaces,
    "ci-build-workspace",
    (one) => one.status?.phase === "Bound",
  );
  expect(status).toMatchObject({
    phase: "Bound",
    runtime: "bash",
    boundPod: expect.stringMatching(/^runtime-bash-[a-z0-9]+-[a-z0-9]+$/),
    path: "/workspace/persistent/ci-build-workspace",
  });
  const bound = (await cluster.pods("bash")).find(({ metadata }) => metadata.name === status?.boundPod);
  expect(status?.boundPodUID).toBe(bound?.metadata.uid);
  expect(status?.lastUsedTime).toBeUndefined();
  expect(existsSync(directory())).toBe(false);
});

test("the Run of the text works in the workspace; a reference without kind and apiGroup means the same", async () => {
  const made = await cluster.create(
    runs,
    bashRun("checkout", "mkdir src && echo x > src/app.py", { workspace: { name: "ci-build-workspace" } }),
  );
  const run = inNamespace<Run>(runText);
  expect(made.spec.workspace).toEqual(run.spec.workspace);
  expect((await cluster.finished("checkout")).status?.phase).toBe("Succeeded");
  await cluster.create(runs, run);
  const packaged = await cluster.finished("ci-build-package");
  expect(packaged.status).toMatchObject({ phase: "Succeeded" });
  expect(packaged.status?.artifactRefs).toMatchObject([{ name: "dist.tgz", driver: "Filesystem", type: "File" }]);
  expect(existsSync(`${directory()}/src/app.py`)).toBe(true);
  const workspace = await cluster.until(
    persistentWorkspaces,
    "ci-build-workspace",
    ({ status }) => parseTime(status?.lastUsedTime) === parseTime(packaged.status?.completionTime),
  );
  expect(workspace.status?.boundPod).toBe(packaged.status?.assignedPod);
});

test("the affinity of the text keeps a Run on the Pod of the Runs that it names", async () => {
  const { affinity } = parse(affinityText).spec as Pick<Run["spec"], "affinity">;
  const [terms] = affinity?.runAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? [];
  const labels = { ...terms?.labelSelector.matchLabels };
  const first = bashRun("anchor", "until test -e done; do sleep 0.05; done", {
    workspace: { name: "ci-build-workspace" },
  });
  await cluster.create(runs, { ...first, metadata: { ...first.metadata, labels } });
  const anchor = await cluster.until(runs, "anchor", ({ status }) => status?.phase === "Running");
  const followers = ["f1", "f2", "f3"];
  for (const name of followers)
    await cluster.create(runs, bashRun(name, "true", affinity === undefined ? {} : { affinity }));
  for (const name of followers) {
    expect((await cluster.finished(name)).status).toMatchObject({
      phase: "Succeeded",
      assignedPod: anchor.status?.assignedPod,
    });
  }
  await cluster.create(runs, bashRun("release", "touch done", { workspace: { name: "ci-build-workspace" } }));
  expect((await cluster.finished("anchor")).status?.phase).toBe("Succeeded");
});

test("the Workflow of the text is the example, runs, and its status is as the text shows it", async () => {
  const [example] = parseAllDocuments(await readFile("examples/data-sharing/workflow.yaml", "utf8"));
  expect(example?.toJS()).toEqual(parse(workflowText));
  await cluster.create(workflows, inNamespace(workflowText));
  await cluster.create(workflowRuns, {
    metadata: { name: "ci", namespace },
    spec: { workflowRef: { name: "ci-data-sharing-demo" } },
  } satisfies WorkflowRun);
  const { status } = await cluster.workflowFinished("ci");
  const build = status?.jobs?.build;
  const packaged = build?.steps?.find(({ name }) => name === "package");
  expect(packaged?.runName).toMatch(/^ci-build-package-[0-9a-f]{8}$/);
  const { metadata } = await cluster.get(runs, packaged?.runName ?? "");
  expect(build?.artifacts).toEqual({
    "dist.tgz": {
      name: "dist.tgz",
      driver: "Filesystem",
      type: "File",
      location: { filesystem: { path: `runs/${metadata.uid}/artifacts/dist.tgz`, volumeClaimName: "artifacts" } },
      sizeBytes: expect.any(Number),
      digest: expect.stringMatching(/^sha256:[0-9a-f]{64}$/),
      contentType: "application/gzip",
      createdAt: expect.any(String),
    },
  });
  expect(build?.steps?.map(({ name, outputs }) => ({ name, outputs }))).toEqual([
    { name: "checkout", outputs: undefined },
    { name: "test", outputs: { tests: "passed" } },
    { name: "package", outputs: undefined },
  ]);
  expect(status).toMatchObject({ phase: "Succeeded", jobs: { deploy: { phase: "Succeeded" } } });
});
