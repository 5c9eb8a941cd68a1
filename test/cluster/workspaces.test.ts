/** The life of a workspace on a real cluster: where it is bound, when it goes, and what becomes of it when its Pod does. */
import { beforeAll, expect, test } from "vitest";
import { fnv1a32 } from "#api/hash.ts";
import type { PersistentWorkspace, PersistentWorkspaceSpec } from "#api/kinds/persistent-workspace.ts";
import { workspaceFinalizer } from "#api/labels.ts";
import { persistentWorkspaces, runs, runtimes } from "#api/resources.ts";
import { parseTime } from "#api/time.ts";
import { conditionOf, type Pod, pods } from "#kube/builtin.ts";
import { crash, crashWhileRemoving, inPod, signalAgent } from "./inside.ts";
import { bashRun, bashRuntime, finished, installPlatform, readyPods, readyRuntime } from "./platform.ts";
import { adminClient, apply, attempt, image, kubectl, testNamespace, until, untilGone } from "./support.ts";

beforeAll(() => installPlatform());

const client = adminClient();

/** Workspaces and Runs of one namespace. */
function inNamespace(namespace: string) {
  const ref = (name: string) => ({ name, namespace });
  const of = client.of(persistentWorkspaces);
  return {
    ref,
    create: (name: string, spec: Partial<PersistentWorkspaceSpec> = {}) =>
      of.create({ metadata: ref(name), spec: { runtime: "bash", ...spec } }),
    get: (name: string) => of.get(ref(name)),
    delete: (name: string) => of.delete(ref(name)),
    until: (name: string, holds: (one: PersistentWorkspace) => boolean, ms?: number) =>
      until(client, persistentWorkspaces, ref(name), holds, ms),
    bound: (name: string) => until(client, persistentWorkspaces, ref(name), ({ status }) => status?.phase === "Bound"),
    gone: (name: string) => untilGone(client, persistentWorkspaces, ref(name)),
    run: (name: string, workspace: string, script: string) =>
      client.of(runs).create(bashRun(namespace, name, script, { workspace: { name: workspace } })),
    /** Runs a script in a workspace, and expects it to succeed. */
    async does(name: string, workspace: string, script: string) {
      const { status } = await finished(client, await this.run(name, workspace, script));
      expect(status?.phase, `${name}: ${status?.message}`).toBe("Succeeded");
      return status;
    },
    waits: (name: string, reason: string) =>
      until(client, runs, ref(name), ({ status }) => status?.phase === "Pending" && status.reason === reason),
    pod: (name: string) => ({ namespace, name }),
  };
}

const isDeleted = ({ metadata }: { metadata: { deletionTimestamp?: string | undefined } }) =>
  metadata.deletionTimestamp !== undefined;
const podReady = ({ status }: PersistentWorkspace) => conditionOf(status?.conditions, "PodReady")?.status;
const directory = (name: string) => `/workspace/persistent/${name}`;

test.concurrent("a workspace waits for a Pod, and is bound by the hash of its UID to one of those that are ready, for good", async () => {
  await using namespace = await testNamespace("bound");
  const here = inNamespace(namespace.name);
  await here.create("early");
  await here.until("early", ({ status }) => status?.phase === "Pending" && status.reason === "RuntimeNotFound");
  const ready = await readyRuntime(client, bashRuntime(namespace.name, { replicas: 3 }));
  const sorted = [...ready].sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
  const names = ["a", "b", "c", "d", "e", "f"];
  for (const name of names) await here.create(name);
  for (const name of names) {
    const { metadata, status } = await here.bound(name);
    const pick = sorted[fnv1a32(metadata.uid ?? "") % sorted.length];
    expect(status).toMatchObject({
      runtime: "bash",
      boundPod: pick?.metadata.name,
      boundPodUID: pick?.metadata.uid,
      path: directory(name),
    });
    expect(metadata.finalizers).toEqual([workspaceFinalizer]);
  }
  // Bound is not made: that is for the first Run.
  const { status } = await here.bound("early");
  await inPod(here.pod(status?.boundPod ?? ""), "test ! -e /workspace/persistent");
  await here.does("first", "early", `test "$PWD" = ${directory("early")}`);
  const other = JSON.stringify({ status: { boundPodUID: "00000000-0000-4000-8000-000000000000" } });
  const patch = ["patch", "persistentworkspace", "early", "-n", namespace.name, "--subresource=status", "--type=merge"];
  expect((await attempt("kubectl", [...patch, `-p=${other}`])).stderr).toContain("boundPodUID cannot be changed");
});

test.concurrent("a TTL counts from the last use, or from the binding; Retain and no TTL keep files until somebody deletes them", async () => {
  await using namespace = await testNamespace("ttl");
  const here = inNamespace(namespace.name);
  const [pod] = await readyRuntime(client, bashRuntime(namespace.name));
  const on = here.pod(pod?.metadata.name ?? "");
  await here.create("unused", { ttlSecondsAfterUnused: 2 });
  await here.create("kept", { ttlSecondsAfterUnused: 0, cleanupPolicy: "Retain" });
  await here.create("endless");
  for (const name of ["kept", "endless"]) await here.does(`of-${name}`, name, "echo data >file");
  // Longer than the TTL: a use is no unused time.
  await here.create("used", { ttlSecondsAfterUnused: 4 });
  const ended = await here.does("long", "used", "echo data >file; sleep 5");
  const released = await here.until("used", ({ status }) => status?.phase === "Released");
  expect(released.status).toMatchObject({ reason: "TTLExpired", activeRuns: 0, lastUsedTime: ended?.completionTime });
  const deleted = await here.until("used", isDeleted).catch(() => undefined);
  if (deleted !== undefined) {
    // A deletionTimestamp has whole seconds.
    const unusedMs = (parseTime(deleted.metadata.deletionTimestamp) ?? 0) - (parseTime(ended?.completionTime) ?? 0);
    expect(unusedMs).toBeGreaterThan(3000);
  }
  await here.gone("used");
  await here.gone("unused");
  await inPod(on, `test ! -e ${directory("used")}; cat ${directory("kept")}/file ${directory("endless")}/file`);
  for (const name of ["kept", "endless"]) {
    const left = await here.get(name);
    expect([name, left.status?.phase, isDeleted(left)]).toEqual([name, "Bound", false]);
    await here.delete(name);
    await here.gone(name);
    await inPod(on, `test ! -e ${directory(name)}`);
  }
});

test.concurrent("deleted while it is used: its Runs finish with their files, no other begins, and then it goes", async () => {
  await using namespace = await testNamespace("used");
  const here = inNamespace(namespace.name);
  const [pod] = await readyRuntime(client, bashRuntime(namespace.name));
  const on = here.pod(pod?.metadata.name ?? "");
  await here.create("ws");
  await here.create("beside");
  await here.does("neighbour", "beside", "echo mine >file");
  const works = await here.run(
    "works",
    "ws",
    "echo data >file; touch begun; until test -e go; do sleep 0.1; done; cat file",
  );
  await until(client, runs, works.metadata, ({ status }) => status?.phase === "Running");
  await inPod(on, `until test -e ${directory("ws")}/begun; do sleep 0.1; done`);
  await here.delete("ws");
  await here.until("ws", ({ status }) => status?.phase === "Released" && status.reason === "DeletionRequested");
  await here.run("late", "ws", "test ! -e file");
  await here.waits("late", "WorkspaceReleased");
  // One that is deleted afterwards and that nobody uses is gone; this one is held by its Run.
  await here.create("unused");
  await here.bound("unused");
  await here.delete("unused");
  await here.gone("unused");
  expect((await here.get("ws")).metadata.finalizers).toEqual([workspaceFinalizer]);
  await inPod(on, `touch ${directory("ws")}/go`);
  const { status } = await finished(client, works);
  expect(status?.phase, status?.message).toBe("Succeeded");
  await here.gone("ws");
  await inPod(on, `test ! -e ${directory("ws")}; test "$(cat ${directory("beside")}/file)" = mine`);
  // The next one of that name is another one, and the Run that waited runs there.
  await here.create("ws");
  const late = await until(client, runs, here.ref("late"), ({ status: one }) => one?.completionTime !== undefined);
  expect(late.status?.phase, late.status?.message).toBe("Succeeded");
});

let made = 0;

/** One workspace with a file on each of the two Pods. */
async function onEach(here: ReturnType<typeof inNamespace>, ready: readonly Pod[]): Promise<readonly string[]> {
  const found = new Map<string, string>();
  while (found.size < ready.length) {
    const n = made++;
    await here.create(`w-${n}`);
    const { status } = await here.bound(`w-${n}`);
    if (found.has(status?.boundPod ?? "")) continue;
    found.set(status?.boundPod ?? "", `w-${n}`);
    await here.does(`fill-${n}`, `w-${n}`, "echo data >file");
  }
  return ready.map(({ metadata }) => found.get(metadata.name) ?? "");
}

test.concurrent("while its Pod does not answer a workspace stays bound, and its deletion waits; it goes when the Pod answers, or is gone", async () => {
  await using namespace = await testNamespace("unready");
  const here = inNamespace(namespace.name);
  const ready = await readyRuntime(client, bashRuntime(namespace.name, { replicas: 2 }));
  const [silent, answering] = ready.map(({ metadata }) => here.pod(metadata.name));
  const [own = "", other = ""] = await onEach(here, ready);
  if (silent === undefined || answering === undefined) throw new Error("there are not two Pods");
  await here.create("second");
  await here.bound("second");

  await signalAgent(silent, "SIGSTOP");
  const unready = await here.until(own, (one) => podReady(one) === "False");
  expect(unready.status).toMatchObject({ phase: "Bound", boundPod: silent.name });
  await here.run("waits", own, "true");
  await here.waits("waits", "WorkspacePodNotReady");
  await here.delete(own);
  await here.until(own, ({ status }) => status?.phase === "Released");
  await here.delete(other);
  await here.gone(other);
  expect((await here.get(own)).metadata.finalizers).toEqual([workspaceFinalizer]);
  expect(await inPod(silent, `cat ${directory(own)}/file`)).toBe("data\n");
  await signalAgent(silent, "SIGCONT");
  await here.gone(own);
  await inPod(silent, `test ! -e ${directory(own)}`);
  expect((await client.of(pods).get(silent)).metadata.uid).toBe(ready[0]?.metadata.uid);

  // The same again, and this time the Pod never comes back.
  const [last = ""] = await onEach(here, await readyPods(client, namespace.name, "bash", 2));
  await signalAgent(silent, "SIGSTOP");
  await here.delete(last);
  await here.until(last, ({ status }) => status?.phase === "Released");
  await kubectl(["delete", "pod", silent.name, "-n", namespace.name, "--force", "--grace-period=0"]);
  await here.gone(last);
});

interface Loss {
  readonly change?: Parameters<typeof bashRuntime>[1];
  /** What its Run does. */
  readonly script: string;
  readonly lose: (namespace: string, pod: Pod) => Promise<unknown>;
  readonly reason: RegExp;
  /** How its Run ends. */
  readonly run: string;
}

const forced = (namespace: string, { metadata }: Pod) =>
  kubectl(["delete", "pod", metadata.name, "-n", namespace, "--force", "--grace-period=0"]);

const losses: Record<string, Loss> = {
  "is deleted": { script: "sleep 600", lose: forced, reason: /^BoundPod(Deleted|Deleting)$/, run: "Failed" },
  "is on its way out, while its Runs still finish": {
    script: "sleep 4; cat file",
    lose: (namespace, { metadata }) => kubectl(["delete", "pod", metadata.name, "-n", namespace, "--wait=false"]),
    reason: /^BoundPodDeleting$/,
    run: "Succeeded",
  },
  "is replaced by another one of its name": {
    script: "sleep 600",
    async lose(namespace, pod) {
      await forced(namespace, pod);
      const { name, labels } = pod.metadata;
      const container = { name: "runtime", image: image("kruntimes-bash"), imagePullPolicy: "IfNotPresent" };
      const spec = { containers: [{ ...container, command: ["sleep", "600"] }], nodeSelector: { nowhere: "true" } };
      await apply([
        { apiVersion: "v1", kind: "Pod", metadata: { name, namespace, labels }, spec: secured(spec) } as never,
      ]);
    },
    reason: /^BoundPod(Deleted|Deleting|Replaced)$/,
    run: "Failed",
  },
  "is evicted by the kubelet": {
    change: { workspace: { emptyDir: { sizeLimit: "10Mi" } } },
    script: "head -c 30M /dev/zero >big; sleep 600",
    lose: async () => {},
    reason: /^BoundPod(Failed|Deleting|Deleted)$/,
    run: "Failed",
  },
};

/** As a namespace that is `restricted` wants it. */
const secured = <T extends { containers: object[] }>(spec: T) => ({
  ...spec,
  securityContext: { runAsNonRoot: true, runAsUser: 65532, seccompProfile: { type: "RuntimeDefault" } },
  containers: spec.containers.map((container) => ({
    ...container,
    securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"] } },
  })),
});

test.concurrent.each(Object.entries(losses))(
  "a workspace whose Pod %s is lost, and never bound again",
  async (_, loss) => {
    await using namespace = await testNamespace("lost");
    const here = inNamespace(namespace.name);
    const [pod] = await readyRuntime(client, bashRuntime(namespace.name, loss.change));
    if (pod === undefined) throw new Error("there is no Pod");
    await here.create("ws");
    const { status: bound } = await here.bound("ws");
    await here.does("fill", "ws", "echo data >file");
    const run = await here.run("works", "ws", loss.script);
    await until(client, runs, run.metadata, ({ status }) => status?.phase === "Running");
    await loss.lose(namespace.name, pod);
    const lost = await here.until("ws", ({ status }) => status?.phase === "Lost");
    expect(lost.status?.reason).toMatch(loss.reason);
    const ended = await finished(client, run);
    expect(ended.status?.phase, ended.status?.message).toBe(loss.run);

    // A new Pod is there, and takes new workspaces; the lost one stays what it is, its Runs wait, and nothing holds it.
    await until(client, runtimes, here.ref("bash"), ({ status }) => status?.readyReplicas === 1);
    await here.create("next");
    const next = await here.bound("next");
    expect(next.status?.boundPodUID).not.toBe(bound?.boundPodUID);
    await here.run("waits", "ws", "true");
    await here.waits("waits", "WorkspaceLost");
    expect((await here.get("ws")).status).toMatchObject({
      phase: "Lost",
      boundPod: bound?.boundPod,
      boundPodUID: bound?.boundPodUID,
    });
    await here.delete("ws");
    await here.gone("ws");
  },
);

test.concurrent("files in memory outlive the containers of their Pod; lost with a restart of the node, they are told to be lost", async () => {
  await using namespace = await testNamespace("memory");
  const here = inNamespace(namespace.name);
  const workspace = { emptyDir: { medium: "Memory", sizeLimit: "32Mi" } };
  const [pod] = await readyRuntime(client, bashRuntime(namespace.name, { workspace }));
  const on = here.pod(pod?.metadata.name ?? "");
  await here.create("ws");
  await here.does("writer", "ws", "echo data >file");
  const restarted = (container: string) => (one: Pod) =>
    [...(one.status?.initContainerStatuses ?? []), ...(one.status?.containerStatuses ?? [])].some(
      ({ name, restartCount, ready }) => name === container && restartCount === 1 && ready === true,
    );
  for (const container of ["runtime", "runtimed"] as const) {
    await crash(on, container);
    await until(client, pods, on, restarted(container));
  }
  await here.does("reader", "ws", 'test "$(cat file)" = data');
  // What a node leaves of a Pod that it starts again: the same Pod, and a volume in memory that is empty.
  await inPod(on, "rm -rf /workspace/persistent");
  await crash(on, "runtimed");
  const { status } = await finished(client, await here.run("next", "ws", "true"));
  expect(status, status?.message).toMatchObject({ phase: "Failed", reason: "WorkspaceLost" });
});

test.concurrent("an agent that crashes while it removes a workspace finishes that when it is back, and removes nothing else", async () => {
  await using namespace = await testNamespace("removal");
  const here = inNamespace(namespace.name);
  const [pod] = await readyRuntime(client, bashRuntime(namespace.name));
  const on = here.pod(pod?.metadata.name ?? "");
  await here.create("doomed");
  await here.create("beside");
  await here.does("neighbour", "beside", "mkdir -p a/b; echo mine >a/b/file; chmod 500 a/b");
  const fill = [
    "mkdir many deep; cd many; seq 20000 | xargs touch; cd ../deep",
    "for n in $(seq 200); do mkdir d; cd d; done; cd /workspace/persistent/doomed",
    "ln -s ../beside beside; ln -s /etc etc; mkdir -p locked/in; echo x >locked/in/file; chmod 0 locked/in; chmod 500 locked",
  ].join("\n");
  await here.does("fill", "doomed", fill);
  const all = (await inPod(on, "find /workspace -path '*/doomed' -prune -o -printf '%p %y %m %s\\n' | sort")).trim();
  const killed = crashWhileRemoving(on, `${directory("doomed")}/many`);
  await here.delete("doomed");
  const left = await killed;
  expect(left).toBeGreaterThan(0);
  expect(left).toBeLessThan(20_000);
  await here.gone("doomed");
  await inPod(on, `test ! -e ${directory("doomed")}; test "$(cat ${directory("beside")}/a/b/file)" = mine`);
  const after = (await inPod(on, "find /workspace -path '*/doomed' -prune -o -printf '%p %y %m %s\\n' | sort")).trim();
  expect(after.replace(/^(\S+ d \S+) \d+$/gm, "$1")).toBe(all.replace(/^(\S+ d \S+) \d+$/gm, "$1"));
  const { status } = await client.of(pods).get(on);
  expect(status?.initContainerStatuses?.find(({ name }) => name === "runtimed")?.restartCount).toBe(1);
  await here.does("goes-on", "beside", "cat a/b/file");
});
