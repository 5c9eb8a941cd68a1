import { createHash } from "node:crypto";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { ArtifactRef } from "#api/kinds/artifact-ref.ts";
import { runs, runtimes } from "#api/resources.ts";
import { type Pod, pods } from "#kube/builtin.ts";
import { createClient } from "#kube/client.ts";
import { httpTransport } from "#kube/http-transport.ts";
import { memoryTransport } from "#kube/memory.ts";
import type { Clock } from "#kube/ports.ts";
import type { Client } from "#kube/resource.ts";
import { seededRandom } from "#kube/seeded-random.ts";
import { silentLogger } from "#kube/silent-logger.ts";
import { systemClock, systemRandom } from "#kube/system.ts";
import { type ApiRequest, StatusError, type Transport } from "#kube/transport.ts";
import { createApiServer } from "#local/apiserver/index.ts";
import { platformCrds } from "#local/crds.ts";
import { type HttpListener, listen } from "#local/http/listener.ts";
import { jsonAnswer, statusAnswer } from "#local/http/message.ts";
import { portForward } from "#local/http/port-forward.ts";
import { nodeLayout } from "#local/node/layout.ts";
import { podPort } from "#local/pod-ports.ts";
import { bashRuntime } from "#test/integration/support/cluster.ts";
import { type ArtifactEntry, type Artifacts, createArtifacts } from "./artifacts.ts";
import { systemDownloadFiles } from "./download-files.ts";

const namespace = "default";
const content = Buffer.from(Array.from({ length: 200_000 }, (_, n) => (n * 7) % 251));
const digest = `sha256:${createHash("sha256").update(content).digest("hex")}`;

/** Pauses take a hundredth of their time. */
const hurried: Clock = { ...systemClock, after: (ms, fn) => systemClock.after(ms >= 30_000 ? ms : ms / 100, fn) };

let directory: string;
let client: Client;
let transport: Transport;
let listener: HttpListener;
let artifacts: Artifacts;
let entry: ArtifactEntry;
let agents: Server[];
/** How the agent of a Pod answers the nth request. */
let respond: (socket: Socket, start: number, n: number, pod: string) => void;
let asked: { pod: string; path: string; headers: string }[];

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "krt-dl-"));
  agents = [];
  asked = [];
  respond = (socket, start) => socket.end(answer(start, content.subarray(start)));
  const api = createApiServer({ crds: platformCrds(), clock: systemClock, random: systemRandom });
  const inside = createClient(memoryTransport(api, systemClock));
  const layout = nodeLayout(directory);
  listener = await listen(
    async ({ method, path, query, signal }) => {
      try {
        return jsonAnswer(200, await api.handle({ method: method as ApiRequest["method"], path, query, signal }));
      } catch (error) {
        if (error instanceof StatusError) return statusAnswer(error.status);
        throw error;
      }
    },
    { upgrades: portForward({ authorized: () => true, resolve: podPort(inside, layout) }) },
  );
  const credentials = async () => ({ headers: {} });
  const random = seededRandom(5);
  transport = httpTransport({ server: listener.url, credentials, clock: hurried, random, logger: silentLogger });
  client = createClient(transport);
  artifacts = createArtifacts({ client, files: systemDownloadFiles, clock: hurried, random });

  await inside.of(runtimes).create(bashRuntime());
  const run = await inside.of(runs).create({
    metadata: { name: "build", namespace },
    spec: { runtime: "bash", source: { inline: "exit" } },
  });
  const location = {
    filesystem: { path: `runs/${run.metadata.uid}/artifacts/dist.bin`, volumeClaimName: "artifacts" },
  };
  const ref: ArtifactRef = {
    name: "dist.bin",
    driver: "Filesystem",
    type: "File",
    location,
    sizeBytes: content.length,
    digest,
  };
  const status = { phase: "Pending" as const, artifactRefs: [ref] };
  const stored = await inside.of(runs).update({ ...run, status }, "status");
  const [first] = artifacts.ofRun(stored);
  if (first === undefined) throw new Error("the Run has no artifact");
  entry = first;
  await addPod(inside, "runtime-1");

  async function addPod(to: Client, name: string): Promise<void> {
    const made = await to.of(pods).create(readyPod(name));
    await to.of(pods).update({ ...made, status: readyPod(name).status ?? {} }, "status");
    await mkdir(layout.podDirectory(made.metadata.uid ?? ""), { recursive: true });
    await agent(layout.artifactSocket(made.metadata.uid ?? ""), name);
  }
});
afterEach(async () => {
  await transport.close();
  await listener.close();
  await Promise.all(agents.map((one) => new Promise((resolve) => one.close(resolve))));
  await rm(directory, { recursive: true, force: true });
});

const readyPod = (name: string): Pod => ({
  metadata: { name, namespace, labels: { "kruntimes.io/runtime": "bash" } },
  spec: { containers: [{ name: "runtime", image: "x" }] },
  status: { phase: "Running", conditions: [{ type: "Ready", status: "True" }] },
});

/** An agent whose answers the test writes byte by byte. */
async function agent(path: string, pod: string): Promise<void> {
  const server = createServer((socket) => {
    let head = "";
    socket.on("error", () => {});
    socket.on("data", (part) => {
      head += part;
      if (!head.endsWith("\r\n\r\n")) return;
      asked.push({ pod, path: head.split(" ")[1] ?? "", headers: head });
      const start = Number(/range: bytes=(\d+)-/i.exec(head)?.[1] ?? 0);
      head = "";
      respond(socket, start, asked.length, pod);
    });
  });
  agents.push(server);
  await new Promise<void>((resolve) => server.listen(path, resolve));
}

function answer(start: number, bytes: Buffer): Buffer {
  const code = start === 0 ? "200 OK" : "206 Partial Content";
  const length = content.length - start;
  return Buffer.concat([Buffer.from(`HTTP/1.1 ${code}\r\ncontent-length: ${length}\r\n\r\n`), bytes]);
}

const failed = (code: number, message: string) => {
  const body = JSON.stringify({ kind: "Status", apiVersion: "v1", metadata: {}, status: "Failure", code, message });
  return `HTTP/1.1 ${code} X\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
};

const target = () => join(directory, "out.bin");
const files = async () => (await readdir(directory)).filter((name) => name.includes("out.bin"));

test("an artifact is written whole, and nothing else stays", async () => {
  const progress: number[] = [];
  await artifacts.download(entry, target(), { onProgress: (bytes) => progress.push(bytes) });
  expect((await readFile(target())).equals(content)).toBe(true);
  expect(await files()).toEqual(["out.bin"]);
  expect(progress.at(-1)).toBe(content.length);
  expect(asked).toHaveLength(1);
  expect(asked[0]?.path).toMatch(/^\/runs\/[0-9a-f-]{36}\/artifacts\/dist\.bin\?run=build$/);
  expect(asked[0]?.headers.toLowerCase()).toContain(`if-match: "${digest}"`);
});

test("a connection that breaks again and again is continued where it broke", async () => {
  respond = (socket, start) => {
    const bytes = content.subarray(start, start + 45_000);
    socket.end(answer(start, bytes));
  };
  await artifacts.download(entry, target());
  expect((await readFile(target())).equals(content)).toBe(true);
  expect(asked.length).toBe(5);
});

test("a download that was given up goes on from what it has, also in another process", async () => {
  respond = (socket, start, n) => {
    if (n === 1) socket.write(answer(start, content.subarray(start, 120_000)));
    else socket.end(answer(start, content.subarray(start)));
  };
  const leaving = new AbortController();
  const given = artifacts.download(entry, target(), {
    signal: leaving.signal,
    onProgress: (bytes) => bytes >= 120_000 && leaving.abort(new Error("given up")),
  });
  await expect(given).rejects.toThrow("given up");
  expect(await files()).toEqual([`.out.bin.${digest.slice(7, 20)}.part`]);

  const again = createArtifacts({ client, files: systemDownloadFiles, clock: hurried, random: seededRandom(1) });
  await again.download(entry, target());
  expect((await readFile(target())).equals(content)).toBe(true);
  expect(asked[1]?.headers.toLowerCase()).toContain("range: bytes=120000-");
});

test("bytes that an earlier try got wrong are noticed and fetched anew", async () => {
  await writeFile(join(directory, `.out.bin.${digest.slice(7, 20)}.part`), Buffer.alloc(50_000, 1));
  await artifacts.download(entry, target());
  expect((await readFile(target())).equals(content)).toBe(true);
  expect(asked).toHaveLength(2);
});

test("more bytes than the artifact has are left of an earlier try: it begins anew", async () => {
  await writeFile(join(directory, `.out.bin.${digest.slice(7, 20)}.part`), Buffer.alloc(500_000, 1));
  await artifacts.download(entry, target());
  expect((await readFile(target())).equals(content)).toBe(true);
});

test("an agent that is busy or away for a moment is asked again", async () => {
  respond = (socket, start, n) => {
    if (n === 1) socket.end(failed(429, "busy"));
    else if (n === 2) socket.end(failed(503, "the store is down"));
    else if (n === 3) socket.destroy();
    else socket.end(answer(start, content.subarray(start)));
  };
  await artifacts.download(entry, target());
  expect(asked).toHaveLength(4);
});

const failures: Record<
  string,
  { prepare?: () => unknown; respond?: typeof respond; name: string; says: string; times?: number }
> = {
  "other bytes than the reference describes": {
    respond: (socket, start) => socket.end(answer(start, Buffer.alloc(content.length - start, 9))),
    name: "ArtifactDamagedError",
    says: "artifact dist.bin should be 200000 bytes",
    times: 1,
  },
  "an artifact that is not there any more": {
    respond: (socket) => socket.end(failed(404, "nothing is stored at x")),
    name: "StatusError",
    says: "nothing is stored",
    times: 1,
  },
  "an agent that never gets anything across": {
    respond: (socket) => socket.destroy(),
    name: "TransportError",
    says: "",
    times: 5,
  },
  "a file that is there": {
    prepare: () => writeFile(target(), "mine"),
    name: "ArtifactNotReadableError",
    says: "out.bin exists; name another file, or overwrite it",
    times: 0,
  },
  "no Pod that is ready": {
    prepare: async () => {
      const pod = await client.of(pods).get({ name: "runtime-1", namespace });
      await client.of(pods).delete(pod.metadata, { gracePeriodSeconds: 0 });
    },
    name: "ArtifactNotReadableError",
    says: "no Pod of Runtime bash is ready",
    times: 0,
  },
  "no Runtime with the store": {
    prepare: () => client.of(runtimes).delete({ name: "bash", namespace }),
    name: "ArtifactNotReadableError",
    says: "no Runtime of namespace default has the store of the artifact (Filesystem artifacts)",
    times: 0,
  },
};

test.each(Object.entries(failures))("refused: %s", async (_, { prepare, name, says, times, ...rest }) => {
  respond = rest.respond ?? respond;
  await prepare?.();
  await expect(artifacts.download(entry, target())).rejects.toMatchObject({
    name,
    message: expect.stringContaining(says),
  });
  expect(asked).toHaveLength(times ?? 0);
  const kept = await readFile(target(), "utf8").catch(() => undefined);
  expect(kept === undefined || kept === "mine").toBe(true);
});

test("a file that is there is replaced when that is asked for", async () => {
  await writeFile(target(), "old");
  await artifacts.download(entry, target(), { overwrite: true });
  expect((await readFile(target())).equals(content)).toBe(true);
});

test("artifacts of jobs are listed with their jobs and names", () => {
  const jobs = {
    build: { phase: "Succeeded" as const, artifacts: { "dist.tgz": entry.ref, docs: entry.ref } },
    test: { phase: "Running" as const },
  };
  const run = { metadata: { name: "flow", namespace }, spec: {}, status: { phase: "Running" as const, jobs } };
  const holder = { kind: "WorkflowRun", namespace, name: "flow" };
  expect(artifacts.ofWorkflowRun(run)).toEqual([
    { job: "build", name: "dist.tgz", ref: entry.ref, holder },
    { job: "build", name: "docs", ref: entry.ref, holder },
  ]);
});
