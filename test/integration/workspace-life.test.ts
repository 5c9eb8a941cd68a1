/** The life of a workspace with real programs and files: what its Runs leave, how it goes, and what comes after it. */
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { PersistentWorkspaceSpec } from "#api/kinds/persistent-workspace.ts";
import { persistentWorkspaces, runs, runtimes } from "#api/resources.ts";
import { persistentVolumeClaims } from "#kube/builtin.ts";
import { isNotFound } from "#kube/transport.ts";
import { bashRun, bashRuntime, claim, namespace, TestCluster } from "./support/cluster.ts";

let cluster: TestCluster;
let outside: string;
beforeAll(async () => {
  outside = await mkdtemp(join(tmpdir(), "krt-test-"));
  cluster = await TestCluster.start();
  await cluster.create(persistentVolumeClaims, claim);
  await cluster.create(runtimes, bashRuntime());
  const onClaim = { workspace: { persistentVolumeClaim: { claimName: "artifacts" } } };
  await cluster.create(runtimes, bashRuntime(onClaim, "claimed"));
  await cluster.ready("bash", 1);
  await cluster.ready("claimed", 1);
});
afterAll(async () => {
  await cluster?.stop();
  await rm(outside, { recursive: true, force: true });
});

/** Resolves when it is bound, with the directory of its files on this machine. */
async function workspace(name: string, spec: Partial<PersistentWorkspaceSpec> = {}): Promise<string> {
  await cluster.create(persistentWorkspaces, { metadata: { name, namespace }, spec: { runtime: "bash", ...spec } });
  const bound = await cluster.until(persistentWorkspaces, name, ({ status }) => status?.phase === "Bound");
  return `${cluster.directory}/pods/${bound.status?.boundPodUID}/workspace/persistent/${name}`;
}

const inWorkspace = (name: string, workspace: string, script: string, more: object = {}) =>
  bashRun(name, script, { workspace: { name: workspace }, ...more });

const remove = (name: string) => cluster.client.of(persistentWorkspaces).delete({ name, namespace });

const gone = (name: string) =>
  expect
    .poll(
      () =>
        cluster.get(persistentWorkspaces, name).then(
          () => false,
          (error: unknown) => isNotFound(error),
        ),
      { timeout: 20_000, interval: 20 },
    )
    .toBe(true);

/** A program that tells that it has begun, and goes on until {@link release}. */
const held = (name: string) =>
  `echo $$ > ${outside}/${name}.new; mv ${outside}/${name}.new ${outside}/${name}.begun; until test -e ${outside}/${name}.end; do sleep 0.05; done`;
const begun = (name: string) =>
  expect.poll(() => existsSync(`${outside}/${name}.begun`), { timeout: 20_000 }).toBe(true);
const isAlive = async (name: string) =>
  existsSync(`/proc/${(await readFile(`${outside}/${name}.begun`, "utf8")).trim()}`);
const release = (name: string) => writeFile(`${outside}/${name}.end`, "");

test("however a Run ends, the files in its workspace stay: failed, out of time, cancelled, deleted", async () => {
  const directory = await workspace("kept");
  await cluster.create(runs, inWorkspace("fails", "kept", "echo 1 > failed; exit 1"));
  await cluster.create(runs, inWorkspace("late", "kept", `echo 2 > late; ${held("late")}`, { timeout: "1s" }));
  await cluster.create(runs, inWorkspace("cancelled", "kept", `echo 3 > cancelled; ${held("cancelled")}`));
  await cluster.create(runs, inWorkspace("deleted", "kept", `echo 4 > deleted; ${held("deleted")}`));
  await begun("cancelled");
  await begun("deleted");
  const termination = { mode: "Immediate" as const };
  await cluster.client.of(runs).patch({ name: "cancelled", namespace }, { spec: { termination } });
  const { metadata } = await cluster.get(runs, "deleted");
  await cluster.client.of(runs).delete({ name: "deleted", namespace });
  const phases = { fails: "Failed", late: "Timeout", cancelled: "Cancelled" };
  for (const [name, phase] of Object.entries(phases)) expect((await cluster.finished(name)).status?.phase).toBe(phase);
  await expect.poll(() => isAlive("deleted"), { timeout: 10_000 }).toBe(false);
  await cluster.create(
    runs,
    inWorkspace("reader", "kept", 'test "$(cat failed late cancelled deleted)" = "1\n2\n3\n4"'),
  );
  expect((await cluster.finished("reader")).status?.phase).toBe("Succeeded");
  // Not even what the platform put there for a Run: an agent deletes no path of a workspace that is in use.
  expect(existsSync(`${directory}/.kruntimes/runs/${metadata.uid}`)).toBe(true);
});

test("deleted while a Run is at work in it: that one finishes with its files, no other begins, and then it goes", async () => {
  const directory = await workspace("used");
  await cluster.create(runs, inWorkspace("worker", "used", `echo mine > file; ${held("worker")}; cat file`));
  await begun("worker");
  await remove("used");
  await cluster.until(persistentWorkspaces, "used", ({ status }) => status?.phase === "Released");
  await cluster.create(runs, inWorkspace("next", "used", "ls -A > seen; cat seen"));
  const next = await cluster.until(runs, "next", ({ status }) => status?.reason !== undefined);
  expect(next.status).toMatchObject({ phase: "Pending", reason: "WorkspaceReleased" });
  expect((await cluster.get(runs, "worker")).status?.phase).toBe("Running");
  expect(await readFile(`${directory}/file`, "utf8")).toBe("mine\n");
  await release("worker");
  expect((await cluster.finished("worker")).status?.phase).toBe("Succeeded");
  await gone("used");
  expect(existsSync(directory)).toBe(false);
  // Another one of that name lets the Run go on, and begins empty.
  await cluster.until(runs, "next", ({ status }) => status?.reason === "WorkspaceNotFound");
  await workspace("used");
  expect((await cluster.finished("next")).status?.phase).toBe("Succeeded");
  expect(await readFile(`${directory}/seen`, "utf8")).toBe(".kruntimes\nseen\n");
});

test("unused for its TTL it goes with its files; with Retain and without a TTL it stays until somebody deletes it", async () => {
  const retained = await workspace("retained", { ttlSecondsAfterUnused: 0, cleanupPolicy: "Retain" });
  const unlimited = await workspace("unlimited");
  const short = await workspace("short", { ttlSecondsAfterUnused: 1 });
  for (const name of ["retained", "unlimited", "short"]) {
    await cluster.create(runs, inWorkspace(`in-${name}`, name, "touch file"));
    expect((await cluster.finished(`in-${name}`)).status?.phase).toBe("Succeeded");
  }
  await gone("short");
  expect([retained, unlimited, short].map(existsSync)).toEqual([true, true, false]);
  for (const name of ["retained", "unlimited"]) {
    expect((await cluster.get(persistentWorkspaces, name)).status?.phase).toBe("Bound");
    await remove(name);
    await gone(name);
  }
  expect([retained, unlimited].map(existsSync)).toEqual([false, false]);
});

test("on a claim a lost workspace leaves nothing to the next one of its name", async () => {
  const name = "durable";
  await workspace(name, { runtime: "claimed" });
  const on = { runtime: "claimed" };
  await cluster.create(runs, inWorkspace("before", name, "echo old > file; mkdir dir; echo old > dir/file", on));
  const { status } = await cluster.finished("before");
  expect(status?.phase).toBe("Succeeded");
  await cluster.killPod(status?.assignedPod ?? "");
  await cluster.until(persistentWorkspaces, name, (one) => one.status?.phase === "Lost");
  await remove(name);
  await gone(name);
  const directory = `${cluster.directory}/claims/${namespace}/artifacts/persistent/${name}`;
  expect(await readFile(`${directory}/dir/file`, "utf8")).toBe("old\n");
  await workspace(name, { runtime: "claimed" });
  await cluster.create(runs, inWorkspace("after", name, 'test "$(ls -A)" = .kruntimes', on));
  expect((await cluster.finished("after")).status?.phase).toBe("Succeeded");
});

test("bound workspaces take no place: as many as one likes, and every Run has all the room", async () => {
  await cluster.create(runtimes, bashRuntime({ capacity: { resources: { runs: 1 } } }, "narrow"));
  await cluster.ready("narrow", 1);
  for (let n = 0; n < 5; n++) await workspace(`idle-${n}`, { runtime: "narrow" });
  await cluster.create(runs, bashRun("alone", "true", { runtime: "narrow" }));
  await cluster.create(runs, inWorkspace("inside", "idle-0", "true", { runtime: "narrow" }));
  for (const name of ["alone", "inside"]) expect((await cluster.finished(name)).status?.phase).toBe("Succeeded");
});
