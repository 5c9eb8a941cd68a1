import { afterEach, expect, test } from "vitest";
import { configMaps, type Pod, pods, secrets } from "#kube/builtin.ts";
import { createClient } from "#kube/client.ts";
import { memoryTransport } from "#kube/memory.ts";
import type { Client } from "#kube/resource.ts";
import { seededRandom } from "#kube/seeded-random.ts";
import { silentLogger } from "#kube/silent-logger.ts";
import { isNotFound } from "#kube/transport.ts";
import { VirtualClock } from "#kube/virtual-clock.ts";
import { type ApiServer, createApiServer } from "#local/apiserver/index.ts";
import { nodeLayout } from "./layout.ts";
import { createNode, nodeName } from "./node.ts";
import { PodLogs } from "./pod-logs.ts";

const ref = { name: "p", namespace: "default" };
const layout = nodeLayout("/state");

/** A machine whose processes and directories are only written down. */
class Machine {
  readonly clock = new VirtualClock();
  readonly api: ApiServer = createApiServer({ crds: [], clock: this.clock, random: seededRandom(1) });
  readonly client: Client = createClient(memoryTransport(this.api, this.clock));
  readonly directories = new Set<string>();
  readonly published = new Map<string, Record<string, Uint8Array>>();
  readonly ended: string[] = [];
  started = 0;
  /** What the node does with what a process prints. */
  print: (line: string) => void = () => {};
  isDiskFull = false;

  /** A process of the node; its Pods' processes live until it says otherwise. */
  startNode(): Promise<void> {
    return createNode({
      client: this.client,
      clock: this.clock,
      random: seededRandom(2),
      logger: silentLogger,
      layout,
      processes: {
        start: ({ onOutput }) => {
          this.started++;
          this.print = (line) => onOutput(Buffer.from(`${line}\n`));
          return { pid: this.started, ended: new Promise(() => {}), signal: () => {} };
        },
        endPod: async (uid) => void this.ended.push(uid),
      },
      directories: {
        make: (path) => void this.directories.add(path),
        publish: (path, values) => void this.published.set(path, Object.fromEntries(values)),
        remove: async (path) => void this.directories.delete(path),
        list: async (path) =>
          [...this.directories].filter((one) => one.startsWith(`${path}/`)).map((one) => one.slice(path.length + 1)),
      },
      logs: new PodLogs({
        append: () => {
          if (this.isDiskFull) throw new Error("ENOSPC: no space left on device");
        },
      }),
      agentEnv: {},
    }).start(new AbortController().signal);
  }

  /** A Pod that an earlier process of the node has brought to run. */
  async runningPod(): Promise<Pod> {
    const spec = { nodeName, containers: [{ name: "runtime", image: "i", args: ["executor"] }] };
    const made = await this.client.of(pods).create({ metadata: ref, spec });
    this.directories.add(layout.podDirectory(made.metadata.uid ?? ""));
    return this.client.of(pods).update({ ...made, status: { phase: "Running" } }, "status");
  }

  pod(): Promise<Pod | undefined> {
    return this.client
      .of(pods)
      .get(ref)
      .catch((error: unknown) => {
        if (isNotFound(error)) return undefined;
        throw error;
      });
  }
}

let machine = new Machine();
afterEach(() => {
  machine.api.close();
  machine = new Machine();
});

test("a node that starts anew fails the Pods of the one before, also when the first write is refused", async () => {
  const { uid = "" } = (await machine.runningPod()).metadata;
  let refusals = 1;
  machine.api.faults.onRequest = ({ verb }) => (verb === "update" && refusals-- > 0 ? { kind: "conflict" } : undefined);
  await machine.startNode();
  await machine.clock.elapse(1000);
  expect((await machine.pod())?.status).toMatchObject({ phase: "Failed", reason: "NodeLost" });
  expect(machine.ended).toContain(uid);
  expect(machine.started).toBe(0);
});

test("a Pod that was being deleted when the node ended goes, with its processes and its directory", async () => {
  const { uid = "" } = (await machine.runningPod()).metadata;
  await machine.client.of(pods).delete(ref);
  expect((await machine.pod())?.metadata.deletionTimestamp).toBeDefined();
  await machine.startNode();
  await machine.clock.elapse(60_000);
  expect(await machine.pod()).toBeUndefined();
  expect(machine.ended).toContain(uid);
  expect([...machine.directories]).toEqual([]);
});

test("the directory of a Pod that the node before has run goes with the Pod", async () => {
  await machine.runningPod();
  await machine.startNode();
  await machine.clock.elapse(1000);
  await machine.client.of(pods).delete(ref);
  await machine.clock.elapse(1000);
  expect(await machine.pod()).toBeUndefined();
  expect([...machine.directories]).toEqual([]);
});

test("a Pod that was removed while there was no node leaves neither process nor directory", async () => {
  machine.directories.add(layout.podDirectory("gone"));
  await machine.startNode();
  await machine.clock.elapse(1000);
  expect(machine.ended).toEqual(["gone"]);
  expect([...machine.directories]).toEqual([]);
});

test("a full disk loses lines of a log, and not the node", async () => {
  await machine.startNode();
  const spec = { containers: [{ name: "runtime", image: "i", args: ["executor"] }] };
  await machine.client.of(pods).create({ metadata: ref, spec });
  await machine.clock.settle();
  expect(machine.started).toBe(1);
  machine.isDiskFull = true;
  expect(() => machine.print("a line")).not.toThrow();
});

test("mounted Secrets and ConfigMaps are there before the agent, follow their objects, and go with them", async () => {
  const directory = (kind: string, name: string, uid: string) =>
    `${layout.podDirectory(uid)}/references/${kind}/${name}`;
  const text = (path: string) =>
    Object.entries(machine.published.get(path) ?? {}).map(([key, value]) => `${key}=${Buffer.from(value)}`);
  await machine.startNode();
  const { client, clock } = machine;
  const at = { name: "db", namespace: "default" };
  await client.of(secrets).create({ metadata: at, stringData: { user: "ada" } });
  const made = await client.of(pods).create({
    metadata: ref,
    spec: {
      containers: [{ name: "runtime", image: "i", args: ["executor"] }],
      volumes: [
        { name: "kruntimes-secret-0", secret: { secretName: "db", optional: true } },
        { name: "kruntimes-configmap-0", configMap: { name: "settings", optional: true } },
      ],
    },
  });
  await clock.settle();
  const { uid = "" } = made.metadata;
  expect(machine.started).toBe(1);
  expect(text(directory("secrets", "db", uid))).toEqual(["user=ada"]);
  expect(machine.published.get(directory("configmaps", "settings", uid))).toEqual({});

  await client.of(secrets).patch(at, { stringData: { user: "bob" } });
  const binaryData = { raw: Buffer.from([0xff, 0]).toString("base64") };
  await client.of(configMaps).create({ metadata: { ...at, name: "settings" }, data: { level: "1" }, binaryData });
  await clock.settle();
  expect(text(directory("secrets", "db", uid))).toEqual(["user=bob"]);
  expect(machine.published.get(directory("configmaps", "settings", uid))).toEqual({
    level: Buffer.from("1"),
    raw: Buffer.from([0xff, 0]),
  });

  await client.of(secrets).delete(at);
  await clock.settle();
  expect(text(directory("secrets", "db", uid))).toEqual([]);
  expect(machine.started).toBe(1);
});
