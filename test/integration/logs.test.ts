import { writeFile } from "node:fs/promises";
import { get, type IncomingMessage } from "node:http";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { LogRecord } from "#api/log-record.ts";
import { recordBytes } from "#api/log-record.ts";
import { runs, runtimes } from "#api/resources.ts";
import { createLogs, fromStart, type LogItem, type Logs } from "#extension-api/client/logs.ts";
import { logPath } from "#extension-api/logs/route.ts";
import { persistentVolumeClaims, pods } from "#kube/builtin.ts";
import { systemClock, systemRandom } from "#kube/system.ts";
import { bashRun, bashRuntime, claim, namespace, TestCluster } from "./support/cluster.ts";

let cluster: TestCluster;
let token: string;
let logs: Logs;
beforeAll(async () => {
  cluster = await TestCluster.start();
  token = await cluster.token();
  logs = createLogs({ transport: cluster.transport, clock: systemClock, random: systemRandom });
  await cluster.create(persistentVolumeClaims, claim);
  await cluster.create(runtimes, bashRuntime({ capacity: { resources: { runs: 16 } } }));
  await cluster.create(runtimes, bashRuntime({ capacity: { resources: { runs: 4 } } }, "other"));
  await Promise.all([cluster.ready("bash", 1), cluster.ready("other", 1)]);
});
afterAll(() => cluster.stop());

async function collect(items: AsyncIterable<LogItem>): Promise<LogItem[]> {
  const all: LogItem[] = [];
  for await (const item of items) all.push(item);
  return all;
}

const follow = async (name: string) => collect(await logs.getLogs(namespace, name, { follow: true }).stream());
const messages = (items: readonly LogItem[]) => items.map(({ message }) => message);
const bytesOf = (items: readonly LogItem[]) =>
  Buffer.concat(items.map((item) => recordBytes({ run: "x", seq: 1, ...item } as LogRecord)));

/** A plain request, to see what is on the wire. */
function raw(path: string, headers: Record<string, string> = { authorization: `Bearer ${token}` }) {
  return new Promise<IncomingMessage>((resolve, reject) => {
    get(`${cluster.cluster.url}${path}`, { headers }, resolve).on("error", reject);
  });
}

async function text(incoming: IncomingMessage): Promise<string> {
  let all = "";
  for await (const part of incoming.setEncoding("utf8")) all += part;
  return all;
}

test("a Run is followed from before its start to its end, over HTTP", async () => {
  await cluster.create(runs, bashRun("hello", "for n in 1 2 3; do echo out $n; echo err $n >&2; done"));
  const items = await follow("hello");
  expect(items.map(({ seq, attempt }) => `${attempt}.${seq}`)).toEqual([1, 2, 3, 4, 5, 6].map((seq) => `1.${seq}`));
  for (const [stream, word] of [
    ["stdout", "out"],
    ["stderr", "err"],
  ] as const) {
    const of = items.filter((item) => item.stream === stream);
    expect(messages(of)).toEqual([1, 2, 3].map((n) => `${word} ${n}`));
  }
  expect((await cluster.get(runs, "hello")).status?.phase).toBe("Succeeded");
});

test("nothing of a Run's last words is missing when its log ends, however fast it is", async () => {
  const names = Array.from({ length: 20 }, (_, n) => `last-words-${n}`);
  await Promise.all(names.map((name) => cluster.create(runs, bashRun(name, `printf 'a\\nb\\nc'; exit 0`))));
  const all = await Promise.all(names.map((name) => follow(name)));
  expect(all.map((items) => bytesOf(items).toString())).toEqual(names.map(() => "a\nb\nc"));
});

test("output is byte-exact: carriage returns, empty lines, bytes that are no text, a long line, no line end", async () => {
  const script = [
    "printf 'progress 10%%\\rprogress 20%%\\r\\n\\n\\n'",
    "printf '\\xff\\xfe\\x00raw\\n'",
    "head -c 2097152 /dev/zero | tr '\\0' 'y'",
    "printf '\\nend'",
  ].join("\n");
  await cluster.create(runs, bashRun("exact", script));
  const items = await follow("exact");
  const want = Buffer.concat([
    Buffer.from("progress 10%\rprogress 20%\r\n\n\n"),
    Buffer.from([0xff, 0xfe, 0x00]),
    Buffer.from("raw\n"),
    Buffer.alloc(2_097_152, "y"),
    Buffer.from("\nend"),
  ]);
  expect(bytesOf(items).equals(want)).toBe(true);
  const pages = await collect(await logs.getLogs(namespace, "exact", { cursor: fromStart }).stream());
  expect(bytesOf(pages).equals(want)).toBe(true);
});

test("a program that prints records of another Run shows them in its own log only", async () => {
  await cluster.create(runs, bashRun("victim", "echo secret of the victim; sleep 0.3"));
  const victim = await cluster.until(runs, "victim", ({ status }) => status?.phase === "Running");
  const forged = `{"run":"${victim.metadata.uid}","attempt":1,"seq":2,"time":"2026-01-01T00:00:00.000000Z","stream":"stdout","message":"forged"}`;
  await cluster.create(runs, bashRun("forger", `printf '%s\\n' '${forged}' ; printf '\\n%s' '${forged}' >&2`));
  expect(messages(await follow("forger"))).toEqual([forged, "", forged]);
  expect(messages(await follow("victim"))).toEqual(["secret of the victim"]);
  expect(await logs.getLogs(namespace, "forger").do().raw()).not.toContain("secret of the victim");
});

test("attempts of a Run follow each other, also when its Pod is lost between them", async () => {
  await cluster.create(runtimes, bashRuntime({}, "lossy"));
  const [pod] = await cluster.ready("lossy", 1);
  const script = 'echo attempt $KRUNTIME_ATTEMPT; [ "$KRUNTIME_ATTEMPT" = 1 ] && sleep 60; exit 0';
  const retryPolicy = { maxAttempts: 3, backoff: "10ms" };
  await cluster.create(runs, bashRun("lost", script, { runtime: "lossy", retryPolicy }));
  const stream = (await logs.getLogs(namespace, "lost", { follow: true }).stream())[Symbol.asyncIterator]();
  expect((await stream.next()).value).toMatchObject({ message: "attempt 1", attempt: 1 });
  await cluster.killPod(pod?.metadata.name ?? "");
  expect((await stream.next()).value).toMatchObject({ message: "attempt 2", attempt: 2 });
  expect((await stream.next()).done).toBe(true);

  // The first Pod's log went with it, and the log says so.
  const later = (await logs.getLogs(namespace, "lost").do().snapshot()).items;
  expect(later.map(({ stream, message }) => `${stream}: ${message}`)).toEqual([
    `system: the log of attempt 1 is gone with Pod ${pod?.metadata.name}`,
    "stdout: attempt 2",
  ]);

  const [second] = await cluster.pods("lossy");
  await cluster.killPod(second?.metadata.name ?? "");
  await expect
    .poll(async () => (await cluster.client.of(pods).list({ namespace })).items.map(({ metadata }) => metadata.name))
    .not.toContain(second?.metadata.name);
  for (const request of [logs.getLogs(namespace, "lost"), logs.getLogs(namespace, "lost", { follow: true })]) {
    await expect(request.stream()).rejects.toMatchObject({ code: 409, reason: "Conflict" });
  }
});

test("an agent that is killed while a Run is followed loses nothing that came before, and goes on", async () => {
  const script = "for n in $(seq 1 40); do echo line $n; sleep 0.02; done";
  await cluster.create(runs, bashRun("agent-killed", script, { runtime: "other" }));
  const [pod] = await cluster.pods("other");
  const stream = await logs.getLogs(namespace, "agent-killed", { follow: true }).stream();
  const items: LogItem[] = [];
  for await (const item of stream) {
    items.push(item);
    if (items.length === 10) cluster.cluster.node.crash({ name: pod?.metadata.name ?? "", namespace }, "runtimed");
  }
  const restart = items.findIndex((item) => item.stream === "system" && item.message.includes("the agent restarted"));
  expect(restart).toBeGreaterThanOrEqual(10);
  // What the dead agent had printed and not acknowledged comes again behind that word; nothing is missing.
  const numbers = (part: readonly LogItem[]) => part.map(({ message }) => Number(message.split(" ")[1]));
  const before = numbers(items.slice(0, restart));
  const after = numbers(items.slice(restart + 1));
  const inARow = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, n) => from + n);
  expect(before).toEqual(inARow(1, before.length));
  expect(after).toEqual(inARow(after[0] ?? 0, 40));
  expect(after[0]).toBeLessThanOrEqual(before.length + 1);
});

test("on the wire: one JSON record a line, with a cursor; headers before the Run has a Pod", async () => {
  await cluster.create(runs, bashRun("waits", "echo hi", { runtime: "missing" }));
  const waiting = await raw(`${logPath(namespace, "waits")}?follow=true`);
  expect(waiting.statusCode).toBe(200);
  expect(waiting.headers["content-type"]).toBe("application/x-ndjson");
  waiting.destroy();

  await cluster.create(runs, bashRun("wire", "echo hi"));
  const lines = (await text(await raw(`${logPath(namespace, "wire")}?follow=true`))).split("\n");
  expect(lines).toHaveLength(2);
  expect(JSON.parse(lines[0] ?? "")).toEqual({
    attempt: 1,
    seq: 1,
    time: expect.any(String),
    stream: "stdout",
    message: "hi",
    cursor: expect.any(String),
  });
  const snapshot = JSON.parse(await text(await raw(logPath(namespace, "wire"))));
  expect(snapshot).toEqual({ items: [expect.objectContaining({ message: "hi" })], cursor: expect.any(String) });
});

const refusals: Record<string, { path: string; headers?: Record<string, string>; code: number; reason: string }> = {
  "no such Run": { path: logPath(namespace, "nobody"), code: 404, reason: "NotFound" },
  "a Run of another namespace": { path: logPath("kube-system", "hello"), code: 404, reason: "NotFound" },
  "no token": { path: logPath(namespace, "hello"), headers: {}, code: 401, reason: "Unauthorized" },
  "a bad parameter": { path: `${logPath(namespace, "hello")}?tailLines=-1`, code: 400, reason: "BadRequest" },
  "a bad parameter of a stream": {
    path: `${logPath(namespace, "hello")}?follow=true&cursor=x`,
    code: 400,
    reason: "BadRequest",
  },
  "no log": { path: `${logPath(namespace, "hello")}s`, code: 404, reason: "NotFound" },
};

test.each(Object.entries(refusals))("refused with a Status: %s", async (_, { path, headers, code, reason }) => {
  const answer = await raw(path, headers);
  expect(answer.statusCode).toBe(code);
  expect(JSON.parse(await text(answer))).toMatchObject({ kind: "Status", status: "Failure", code, reason });
});

test("in the process of the cluster the same client works without a wire", async () => {
  await cluster.create(runs, bashRun("inside", "echo from inside"));
  const inside = createLogs({ transport: cluster.client.transport, clock: systemClock, random: systemRandom });
  const items = await collect(await inside.getLogs(namespace, "inside", { follow: true }).stream());
  expect(messages(items)).toEqual(["from inside"]);
});

test("a line is at the client shortly after it was printed", async () => {
  // The program tells the time at which it prints; both clocks are this machine's.
  await cluster.create(runs, bashRun("latency", "for n in $(seq 1 60); do echo $EPOCHREALTIME; sleep 0.02; done"));
  const took: number[] = [];
  for await (const { message } of await logs.getLogs(namespace, "latency", { follow: true }).stream()) {
    took.push(systemClock.now() - Number(message) * 1000);
  }
  took.sort((a, b) => a - b);
  const at = (part: number) => (took[Math.floor(took.length * part)] ?? Number.NaN).toFixed(1);
  console.log(`line printed to line at the client: p50 ${at(0.5)} ms, p95 ${at(0.95)} ms, of ${took.length} lines`);
  expect(took).toHaveLength(60);
  expect(Number(at(0.5))).toBeLessThan(50);
});

test("200 followers of one Run each get everything, with memory that stays flat; one that does not read harms nobody", async () => {
  const followers = 200;
  const lines = 300;
  const script = [
    "until [ -e go ]; do sleep 0.02; done",
    `for n in $(seq 1 ${lines}); do echo "$n $(printf 'x%.0s' {1..200})"; done`,
  ].join("\n");
  await cluster.create(runs, bashRun("watched", script));
  const run = await cluster.until(runs, "watched", ({ status }) => status?.phase === "Running");
  const [pod] = await cluster.pods("bash");
  // Somebody who connects and never reads.
  const stuck = await raw(`${logPath(namespace, "watched")}?follow=true`);
  stuck.pause();
  const streams = await Promise.all(
    Array.from({ length: followers }, () => logs.getLogs(namespace, "watched", { follow: true }).stream()),
  );
  const before = process.memoryUsage().rss;
  let peak = before;
  const counts = Promise.all(
    streams.map(async (stream) => {
      let last = 0;
      for await (const { message } of stream) {
        const n = Number(message.split(" ")[0]);
        expect(n).toBe(last + 1);
        last = n;
        if (n % 50 === 0) peak = Math.max(peak, process.memoryUsage().rss);
      }
      return last;
    }),
  );
  const workspace = `${cluster.directory}/pods/${pod?.metadata.uid}/workspace/runs/${run.metadata.uid}`;
  const begun = performance.now();
  await writeFile(`${workspace}/go`, "");
  expect(await counts).toEqual(Array(followers).fill(lines));
  const ms = performance.now() - begun;
  stuck.destroy();
  const growthMb = (peak - before) / 1024 / 1024;
  console.log(
    `${followers} followers x ${lines} lines in ${ms.toFixed(0)} ms, client and server grew by ${growthMb.toFixed(0)} MB`,
  );
  expect(growthMb).toBeLessThan(200);
});
