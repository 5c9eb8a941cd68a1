import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { httpTransport } from "#kube/http-transport.ts";
import { loadClusterAccess } from "#kube/kubeconfig.ts";
import { silentLogger, systemClock, systemRandom } from "#kube/system.ts";
import { bearerCheck } from "#local/http/bearer.ts";
import { jsonAnswer, textAnswer } from "#local/http/message.ts";
import { runningCluster, writeEndpoint } from "./endpoint.ts";
import { type ClusterState, openState, type StorageChoice } from "./state.ts";

const ending: (() => void | Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ending.splice(0).reverse()) await end();
});

function newDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), "krt-state-"));
  ending.push(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

function open(directory: string, choice: StorageChoice = "sqlite"): ClusterState {
  return openState(directory, choice, { clock: systemClock, random: systemRandom });
}

const hello = async () => textAnswer(200, "hello");

test("files that hold secrets are readable by their owner only", async () => {
  const directory = newDirectory();
  const state = open(directory);
  const served = await state.serve(hello, {});
  for (const name of ["token", "tls.key", "kubeconfig", "endpoint.json", "pid"]) {
    expect(statSync(join(directory, name)).mode & 0o077, name).toBe(0);
  }
  await served.close();
  state.release();
});

test("the kubeconfig leads to the server, which is trusted and trusts", async () => {
  const directory = newDirectory();
  const state = open(directory, "memory");
  const authorized = bearerCheck(state.credentials.token);
  const served = await state.serve(
    async ({ headers, path }) => (authorized(headers.authorization) ? jsonAnswer(200, { path }) : textAnswer(401, "")),
    {},
  );
  const access = loadClusterAccess({ file: served.kubeconfig, context: "krt-local" });
  expect(access.server).toMatch(/^https:\/\/127\.0\.0\.1:\d+$/);
  expect(access.namespace).toBe("default");
  const deps = { clock: systemClock, random: systemRandom, logger: silentLogger };
  const transport = httpTransport({ ...access, ...deps });
  expect(await transport.request({ method: "GET", path: "/x" })).toEqual({ path: "/x" });
  await transport.close();
  await served.close();
  state.release();
});

test("who looks for a cluster finds the process, its address and its kubeconfig while it runs", async () => {
  const directory = newDirectory();
  expect(runningCluster(directory)).toBeUndefined();
  const state = open(directory);
  const kubeconfig = join(directory, "kubeconfig");
  expect(runningCluster(directory)).toEqual({ pid: process.pid, kubeconfig });
  const served = await state.serve(hello, {});
  expect(runningCluster(directory)).toEqual({
    pid: process.pid,
    kubeconfig,
    server: expect.stringMatching(/^https:\/\/127\.0\.0\.1:\d+$/),
  });
  expect(() => open(directory)).toThrow(`is in use by process ${process.pid}`);
  await served.close();
  state.release();
  expect(runningCluster(directory)).toBeUndefined();
  writeEndpoint(directory, { pid: 1, https: 1, http: 2 });
  const next = open(directory);
  expect(runningCluster(directory), "an address of an earlier process is not told").toEqual({
    pid: process.pid,
    kubeconfig,
  });
  next.release();
});

test("a cluster that is kept has the same address, token and certificate after a restart", async () => {
  const directory = newDirectory();
  const run = async () => {
    const state = open(directory);
    const served = await state.serve(hello, {});
    const text = readFileSync(served.kubeconfig, "utf8");
    await served.close();
    state.release();
    return { text, url: served.url };
  };
  expect(await run()).toEqual(await run());
});

test("an address that somebody else took meanwhile is given up", async () => {
  const directory = newDirectory();
  const first = open(directory);
  const served = await first.serve(hello, {});
  const port = Number(new URL(served.url).port);
  await served.close();
  first.release();
  const other = createServer();
  await new Promise<void>((resolve) => other.listen(port, "127.0.0.1", resolve));
  ending.push(() => void other.close());
  const second = open(directory);
  const again = await second.serve(hello, {});
  expect(Number(new URL(again.url).port)).not.toBe(port);
  await again.close();
  second.release();
});

test("objects are kept over a restart by sqlite and forgotten by memory", () => {
  const directory = newDirectory();
  const key = { resource: "things", namespace: "", name: "a" };
  for (const [choice, kept] of [
    ["sqlite", true],
    ["memory", false],
  ] as const) {
    const state = open(directory, choice);
    state.storage.put("things", { apiVersion: "v1", kind: "Thing", metadata: { name: "a" } });
    state.release();
    const again = open(directory, choice);
    expect(again.storage.get(key) !== undefined, choice).toBe(kept);
    again.release();
  }
});
