import { createHash } from "node:crypto";
import { mkdtemp, rm, stat } from "node:fs/promises";
import { createServer, get, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { ArtifactRef } from "#api/kinds/artifact-ref.ts";
import { runs, workflowRuns } from "#api/resources.ts";
import { createClient } from "#kube/client.ts";
import { memoryTransport } from "#kube/memory.ts";
import type { Client } from "#kube/resource.ts";
import { seededRandom } from "#kube/seeded-random.ts";
import { silentLogger } from "#kube/silent-logger.ts";
import { systemClock, systemRandom } from "#kube/system.ts";
import { createApiServer } from "#local/apiserver/index.ts";
import { platformCrds } from "#local/crds.ts";
import { createMemoryStore, memoryVolume } from "#runtime/artifacts/memory-store.ts";
import { type ArtifactStore, StoreUnavailableError } from "#runtime/artifacts/store.ts";
import { createArtifactServer } from "./artifact-server.ts";
import { type ArtifactListener, listenForArtifacts } from "./artifact-server-http.ts";

const content = Buffer.from(Array.from({ length: 1000 }, (_, n) => n % 251));
const digestOf = (bytes: Buffer) => createHash("sha256").update(bytes).digest();

let directory: string;
let socketPath: string;
let client: Client;
let store: ArtifactStore;
let ref: ArtifactRef;
let uid: string;
let listener: ArtifactListener;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "krt-art-"));
  socketPath = join(directory, "a.sock");
  const api = createApiServer({ crds: platformCrds(), clock: systemClock, random: systemRandom });
  client = createClient(memoryTransport(api, systemClock));
  const now = () => systemClock.now();
  const owner = { clusterUid: "cluster", namespace: "default" };
  store = createMemoryStore({ owner, random: seededRandom(1), now, volumeClaimName: "store" }, memoryVolume({ now }));
  const made = await client.of(runs).create({ metadata: { name: "build", namespace: "default" }, spec: task });
  uid = made.metadata.uid ?? "";
  ref = await put("dist.bin", content);
  await client.of(runs).update({ ...made, status: { phase: "Pending", artifactRefs: [ref] } }, "status");
  listener = listenForArtifacts(
    { socket: socketPath },
    createArtifactServer({ client, store: portOf(() => store), namespace: "default" }),
    { clock: systemClock, logger: silentLogger },
  );
  await listener.listening;
});
afterEach(async () => {
  await listener.close();
  await rm(directory, { recursive: true, force: true });
});

const task = { runtime: "bash", source: { inline: "exit" } };

/** The store as it is at the time of each call. */
function portOf(current: () => ArtifactStore): ArtifactStore {
  return new Proxy(current(), { get: (_, key) => Reflect.get(current(), key).bind(current()) });
}

async function put(name: string, bytes: Buffer, runUid = uid): Promise<ArtifactRef> {
  const source = (async function* () {
    yield bytes;
  })();
  const stored = await store.put({ runUid, name }, source, { maxBytes: 1e6 });
  return { name, driver: "Filesystem", type: "File", ...stored, contentType: "application/x-dist" };
}

interface Answer {
  code: number;
  headers: IncomingHttpHeaders;
  body: Buffer;
}

function ask(path: string, headers: Record<string, string> = {}, method = "GET"): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const outgoing = get({ socketPath, path, headers, method }, (incoming) => {
      const parts: Buffer[] = [];
      incoming.on("data", (part: Buffer) => parts.push(part));
      incoming.on("end", () => {
        resolve({ code: incoming.statusCode ?? 0, headers: incoming.headers, body: Buffer.concat(parts) });
      });
      incoming.on("error", reject);
    });
    outgoing.on("error", reject);
  });
}

const path = (query = "?run=build") => `/runs/${uid}/artifacts/dist.bin${query}`;

test("an artifact comes with its size, its type and its digest", async () => {
  const { code, headers, body } = await ask(path());
  expect(code).toBe(200);
  expect(body.equals(content)).toBe(true);
  expect(headers).toMatchObject({
    "content-length": "1000",
    "content-type": "application/x-dist",
    "accept-ranges": "bytes",
    etag: `"sha256:${digestOf(content).toString("hex")}"`,
    "repr-digest": `sha-256=:${digestOf(content).toString("base64")}:`,
  });
});

test("a part comes as 206 with its place", async () => {
  const { code, headers, body } = await ask(path(), { range: "bytes=900-" });
  expect({ code, range: headers["content-range"] }).toEqual({ code: 206, range: "bytes 900-999/1000" });
  expect(body.equals(content.subarray(900))).toBe(true);
});

test("HEAD tells the same without the bytes", async () => {
  const { code, headers, body } = await ask(path(), {}, "HEAD");
  expect({ code, length: headers["content-length"], body: body.length }).toEqual({
    code: 200,
    length: "1000",
    body: 0,
  });
});

test("a WorkflowRun that has taken the reference over holds it too, also when the Run is gone", async () => {
  const spec = { jobs: { build: { "runs-on": "bash", steps: [{ name: "s", run: "true" }] } } };
  const made = await client.of(workflowRuns).create({ metadata: { name: "flow", namespace: "default" }, spec });
  const jobs = { build: { phase: "Succeeded" as const, artifacts: { renamed: ref } } };
  await client.of(workflowRuns).update({ ...made, status: { phase: "Running", jobs } }, "status");
  await client.of(runs).delete({ name: "build", namespace: "default" });
  expect((await ask(path("?workflowRun=flow"))).body.equals(content)).toBe(true);
  expect((await ask(path())).code).toBe(404);
});

test("only the owner of the agent may use the socket", async () => {
  expect((await stat(socketPath)).mode & 0o777).toBe(0o600);
});

const refusals: Record<
  string,
  {
    path?: () => string;
    headers?: Record<string, string>;
    method?: string;
    before?: () => Promise<unknown>;
    code: number;
    says: string;
  }
> = {
  "an artifact that nobody recorded, though it is stored": {
    before: () => put("secret.bin", Buffer.from("x")),
    path: () => `/runs/${uid}/artifacts/secret.bin?run=build`,
    code: 404,
    says: "Run build has no artifact secret.bin",
  },
  "an artifact of another Run, though it is stored": {
    before: () => put("dist.bin", Buffer.from("x"), "other"),
    path: () => "/runs/other/artifacts/dist.bin?run=build",
    code: 404,
    says: "Run build has no artifact dist.bin of Run other",
  },
  "a Run that does not exist": {
    path: () => path("?run=x"),
    code: 404,
    says: "there is no Run x in namespace default",
  },
  "a holder that is not named": { path: () => path(""), code: 400, says: "exactly one of run and workflowRun" },
  "two holders": { path: () => path("?run=a&workflowRun=b"), code: 400, says: "exactly one of run and workflowRun" },
  "a path out of the store": {
    path: () => `/runs/${uid}/artifacts/..%2f..%2fowner.json?run=build`,
    code: 404,
    says: "/runs/<uid>/artifacts/<name>",
  },
  "a path that is none": { path: () => "/", code: 404, says: "/runs/<uid>/artifacts/<name>" },
  writing: { method: "PUT", code: 405, says: "read with GET, not PUT" },
  "a part after the end": { headers: { range: "bytes=1000-" }, code: 416, says: "has 1000 bytes" },
  "another digest than expected": { headers: { "if-match": '"sha256:00"' }, code: 412, says: "has another digest" },
  "bytes that are gone from the store": { before: () => store.delete(uid), code: 404, says: "nothing is stored" },
  "bytes that were replaced behind the reference": {
    before: () => put("dist.bin", Buffer.from("shorter")),
    code: 500,
    says: "the store has 7 bytes of artifact dist.bin, its reference says 1000",
  },
  "a store that is down": {
    before: async () => {
      store = { ...store, open: () => Promise.reject(new StoreUnavailableError("the store is down")) };
    },
    code: 503,
    says: "the store is down",
  },
};

test.each(Object.entries(refusals))("refused: %s", async (_, { before, headers, method, code, says, ...rest }) => {
  await before?.();
  const answer = await ask((rest.path ?? path)(), headers, method);
  const status = JSON.parse(answer.body.toString()) as { kind: string; code: number; message: string };
  expect(status).toMatchObject({ kind: "Status", code, message: expect.stringContaining(says) });
  expect(answer.code).toBe(code);
});

test("a namespace sees only its own Runs", async () => {
  const elsewhere = createArtifactServer({ client, store, namespace: "elsewhere" });
  const request = { method: "GET", url: path(), headers: {}, signal: new AbortController().signal };
  expect(await elsewhere(request)).toMatchObject({ code: 404 });
});

test("more downloads than the limit are told to come again, and a seat is free when one is over", async () => {
  const answer = createArtifactServer({ client, store, namespace: "default" });
  const request = { method: "GET", url: path(), headers: {}, signal: new AbortController().signal };
  const open = await Promise.all(Array.from({ length: 16 }, () => answer(request)));
  expect(open.map(({ code }) => code)).toEqual(Array(16).fill(200));
  expect(await answer(request)).toMatchObject({ code: 429, headers: { "retry-after": "1" } });
  await open[0]?.close();
  const next = await answer(request);
  expect(next.code).toBe(200);
  await Promise.all([...open, next].map((one) => one.close()));
});

test("a reader that leaves in the middle gives its seat back", async () => {
  const big = Buffer.alloc(900_000, 1);
  const made = await client.of(runs).get({ name: "build", namespace: "default" });
  const refs = [await put("big.bin", big)];
  await client.of(runs).update({ ...made, status: { phase: "Pending", artifactRefs: refs } }, "status");
  for (let n = 0; n < 40; n++) {
    await new Promise<void>((resolve, reject) => {
      const outgoing = get({ socketPath, path: `/runs/${uid}/artifacts/big.bin?run=build` }, (incoming) => {
        expect(incoming.statusCode).toBe(200);
        outgoing.destroy();
        resolve();
      });
      outgoing.on("error", reject);
    }).catch(() => {});
  }
  await expect.poll(async () => (await ask(`/runs/${uid}/artifacts/big.bin?run=build`)).code).toBe(200);
});

test("a port that somebody else has is taken as soon as it is free", async () => {
  const other = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => other.once("listening", resolve));
  const { port } = other.address() as AddressInfo;
  const hurried = { ...systemClock, after: (ms: number, fn: () => void) => systemClock.after(ms / 500, fn) };
  const answer = createArtifactServer({ client, store, namespace: "default" });
  const second = listenForArtifacts({ port }, answer, { clock: hurried, logger: silentLogger });
  await new Promise((resolve) => other.close(resolve));
  expect(await second.listening).toBe(port);
  await second.close();
});

test("a socket that an earlier agent left is replaced", async () => {
  const answer = createArtifactServer({ client, store, namespace: "default" });
  const next = listenForArtifacts({ socket: socketPath }, answer, { clock: systemClock, logger: silentLogger });
  await next.listening;
  expect((await ask(path())).code).toBe(200);
  await next.close();
});
