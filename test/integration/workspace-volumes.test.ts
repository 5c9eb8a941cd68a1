/** The volume of a Runtime's workspace on a local cluster: what it has, and what it refuses. */
import { existsSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { findCondition } from "#api/conditions.ts";
import type { Runtime } from "#api/kinds/runtime.ts";
import type { Condition } from "#api/meta.ts";
import { runs, runtimes } from "#api/resources.ts";
import { events, persistentVolumeClaims } from "#kube/builtin.ts";
import { bashRun, bashRuntime, claim, namespace, TestCluster } from "./support/cluster.ts";

let cluster: TestCluster;
beforeAll(async () => {
  cluster = await TestCluster.start();
});
afterAll(() => cluster.stop());

const degraded = ({ status }: Runtime) => findCondition(status?.conditions as Condition[] | undefined, "Degraded");

/** A Runtime without an artifact store. */
const withWorkspace = (name: string, workspace: NonNullable<Runtime["spec"]["workspace"]>): Runtime => {
  const { artifactStore: _, ...spec } = bashRuntime().spec;
  return { metadata: { name, namespace }, spec: { ...spec, workspace } };
};

async function succeeds(name: string, runtime: string, script: string): Promise<void> {
  await cluster.create(runs, bashRun(name, script, { runtime }));
  const { status } = await cluster.finished(name);
  expect(status).toMatchObject({ phase: "Succeeded" });
}

test("an emptyDir with limit and medium is a directory of the Pod", async () => {
  await cluster.create(runtimes, withWorkspace("memory", { emptyDir: { medium: "Memory", sizeLimit: "64Mi" } }));
  const [pod] = await cluster.ready("memory", 1);
  await succeeds("in-memory", "memory", 'case "$PWD" in */workspace/runs/*) ;; *) exit 1 ;; esac');
  expect(existsSync(`${cluster.directory}/pods/${pod?.metadata.uid}/workspace/runs`)).toBe(true);
});

test("a claim that does not exist is told in status and Events, and the Pod comes when it is made", async () => {
  await cluster.create(runtimes, withWorkspace("kept", { persistentVolumeClaim: { claimName: "files" } }));
  const told = await cluster.until(runtimes, "kept", (one) => degraded(one)?.status === "True");
  expect(degraded(told)).toMatchObject({ reason: "PodsFailing" });
  expect(degraded(told)?.message).toContain('ClaimNotFound: persistentvolumeclaim "files" not found; create it');
  const noted = async () => (await cluster.client.of(events).list({ namespace })).items.map(({ note }) => note).join();
  await expect.poll(noted).toContain('persistentvolumeclaim "files" not found');
  await cluster.create(persistentVolumeClaims, { ...claim, metadata: { name: "files", namespace } });
  await cluster.ready("kept", 1);
  await succeeds("in-claim", "kept", "true");
  expect(existsSync(`${cluster.directory}/claims/${namespace}/files/runs`)).toBe(true);
  const healed = await cluster.until(runtimes, "kept", (one) => degraded(one)?.status === "False");
  expect(degraded(healed)?.reason).toBe("Healthy");
});

test("a volume that a local cluster has not is named, and the Runtime recovers with another one", async () => {
  await cluster.create(runtimes, withWorkspace("remote", { nfs: { server: "nfs.example.com", path: "/runs" } }));
  const told = await cluster.until(runtimes, "remote", (one) => degraded(one)?.status === "True");
  expect(degraded(told)?.message).toContain(
    'UnsupportedVolume: volume "workspace": a local cluster has emptyDir and persistentVolumeClaim, not nfs',
  );
  await cluster.client
    .of(runtimes)
    .patch({ name: "remote", namespace }, { spec: { workspace: { nfs: null, emptyDir: {} } } });
  await cluster.ready("remote", 1);
  await succeeds("in-another", "remote", "true");
});

test("two sources at once are refused at creation", async () => {
  const both = { emptyDir: {}, persistentVolumeClaim: { claimName: "files" } };
  await expect(cluster.create(runtimes, withWorkspace("both", both))).rejects.toThrow(
    "at most one volume source may be set",
  );
});
