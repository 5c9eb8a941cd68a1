import { setImmediate as turn } from "node:timers/promises";
import { afterEach, expect, test } from "vitest";
import { httpTransport } from "#kube/http-transport.ts";
import type { Clock } from "#kube/ports.ts";
import { seededRandom } from "#kube/seeded-random.ts";
import { silentLogger } from "#kube/silent-logger.ts";
import { systemClock } from "#kube/system.ts";
import { failure, StatusError, type Transport } from "#kube/transport.ts";
import { type HttpListener, listen } from "#local/http/listener.ts";
import { type HttpAnswer, type HttpRequest, jsonAnswer, statusAnswer } from "#local/http/message.ts";
import { LogWorld, namespace } from "#test/support/log-world.ts";
import { createLogRoute } from "../logs/route.ts";
import { createLogs, fromStart, type LogItem, type RunLogOptions } from "./logs.ts";

let listener: HttpListener | undefined;
let transport: Transport | undefined;
afterEach(async () => {
  await transport?.close();
  await listener?.close();
  listener = undefined;
  transport = undefined;
});

/** Pauses of the client take a hundredth of their time. */
const hurried: Clock = { ...systemClock, after: (ms, fn) => systemClock.after(ms > 10_000 ? ms : ms / 100, fn) };

/** What happens to a request before the service sees it; undefined: nothing. */
type Trouble = (request: HttpRequest, n: number) => HttpAnswer | "cut" | undefined;

/** The logs of a world over real HTTP; streams are cut after `cutAfter` records. */
async function serve(
  world: LogWorld,
  options: { trouble?: Trouble; cutAfter?: number; onTrouble?: (error: Error) => void } = {},
) {
  const { trouble = () => undefined, cutAfter = Number.POSITIVE_INFINITY, onTrouble } = options;
  const route = createLogRoute(world.service);
  const requests: HttpRequest[] = [];
  listener = await listen(async (request) => {
    requests.push(request);
    try {
      const made = trouble(request, requests.length);
      if (made === "cut") throw new Error("cut");
      if (made !== undefined) return made;
      const { path, query, signal } = request;
      const asked = { method: "GET" as const, path, query, signal };
      if (query.follow === undefined) return jsonAnswer(200, await route.handle(asked));
      const items = (await route.watch(asked)) as AsyncIterable<LogItem>;
      return { code: 200, headers: { "content-type": "application/x-ndjson" }, body: cut(items, cutAfter) };
    } catch (error) {
      if (error instanceof StatusError) return statusAnswer(error.status, error.retryAfterMs);
      throw error;
    }
  });
  const random = seededRandom(3);
  transport = httpTransport({
    server: listener.url,
    credentials: async () => ({ headers: {} }),
    clock: hurried,
    random,
    logger: silentLogger,
  });
  const logs = createLogs({ transport, clock: hurried, random, ...(onTrouble && { onTrouble }) });
  return { requests, get: (name: string, options?: RunLogOptions) => logs.getLogs(namespace, name, options) };
}

async function* cut(items: AsyncIterable<LogItem>, after: number): AsyncGenerator<string> {
  let n = 0;
  for await (const item of items) {
    if (n++ === after) {
      // What was written before has left the process; a connection that is cut at once would take it along.
      for (let turns = 0; turns < 20; turns++) await turn();
      throw new Error("cut");
    }
    yield `${JSON.stringify(item)}\n`;
  }
}

async function messages(items: AsyncIterable<LogItem>): Promise<string[]> {
  const found: string[] = [];
  for await (const { message } of items) found.push(message);
  return found;
}

function ended(lines: number): LogWorld {
  const world = new LogWorld();
  world.run("a", world.on("p1", { phase: "Succeeded" }));
  for (let n = 1; n <= lines; n++) world.pod("p1").print(world.line("a", n, `line ${n}`));
  return world;
}

const numbered = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, n) => `line ${from + n}`);

test("a snapshot comes as records, as a value and as the text of the answer", async () => {
  const { get } = await serve(ended(3));
  expect(await messages(await get("a").stream())).toEqual(numbered(1, 3));
  const snapshot = await get("a", { tailLines: 2 }).do().snapshot();
  expect(snapshot.items.map(({ message }) => message)).toEqual(numbered(2, 3));
  expect(JSON.parse(await get("a", { tailLines: 2 }).do().raw())).toEqual(snapshot);
});

test("from the start everything comes, page after page", async () => {
  const world = ended(0);
  for (let n = 1; n <= 200; n++) world.pod("p1").print(world.line("a", n, `${n} ${"x".repeat(14_000)}`));
  const { get, requests } = await serve(world);
  const all = await messages(await get("a", { cursor: fromStart }).stream());
  expect(all.map((message) => Number(message.split(" ")[0]))).toEqual(Array.from({ length: 200 }, (_, n) => n + 1));
  expect(requests.length).toBeGreaterThan(2);
});

test("a stream that breaks again and again is opened where it broke: nothing is missing, nothing comes twice", async () => {
  const world = new LogWorld();
  world.run("a", world.on("p1"));
  const told: string[] = [];
  const { get, requests } = await serve(world, {
    onTrouble: ({ message }) => told.push(message),
    cutAfter: 7,
    trouble: (_, n) => {
      if (n === 3) return "cut";
      if (n === 5) return statusAnswer(failure(503, "ServiceUnavailable", "restarting"));
      if (n === 6) return statusAnswer(failure(429, "TooManyRequests", "busy"), 10);
      return undefined;
    },
  });
  const all = get("a", { follow: true })
    .stream()
    .then((stream) => messages(stream));
  for (let n = 1; n <= 50; n++) {
    world.pod("p1").print(world.line("a", n, `line ${n}`));
    if (n % 10 === 0) await turn();
  }
  world.run("a", world.on("p1", { phase: "Succeeded" }));
  expect(await all).toEqual(numbered(1, 50));
  expect(requests.length).toBeGreaterThan(6);
  // A connection that could be opened again at once is no news.
  expect(told).toEqual(["restarting"]);
});

test("a failure of the service within a stream is a reason to come back; one of the Run is the caller's", async () => {
  const world = new LogWorld();
  world.run("a", world.on("p1"));
  const { get } = await serve(world);
  const stream = (await get("a", { follow: true }).stream())[Symbol.asyncIterator]();
  world.pod("p1").print(world.line("a", 1, "line 1"));
  expect((await stream.next()).value).toMatchObject({ message: "line 1" });
  world.unavailable = true;
  const next = stream.next();
  world.run("a", world.on("p2", { attempt: 2, attempts: [{ number: 1, pod: "p1" }] }));
  world.pod("p2").print(world.line("a", 1, "line 2", { attempt: 2 }));
  setTimeout(() => {
    world.unavailable = false;
  }, 20);
  expect((await next).value).toMatchObject({ message: "line 2" });
  const last = stream.next();
  world.deleteRun("a");
  await expect(last).rejects.toMatchObject({ name: "StatusError", code: 404 });
});

const refusals: Record<string, { options: RunLogOptions; name: string; code: number; reason: string }> = {
  "no such Run": { name: "x", options: {}, code: 404, reason: "NotFound" },
  "no such Run to follow": { name: "x", options: { follow: true }, code: 404, reason: "NotFound" },
  "a bad number": { name: "a", options: { tailLines: 0 }, code: 400, reason: "BadRequest" },
  "a bad cursor": { name: "a", options: { cursor: "no", follow: true }, code: 400, reason: "BadRequest" },
};

test.each(Object.entries(refusals))(
  "refused with the server's Status: %s",
  async (_, { name, options, code, reason }) => {
    const { get, requests } = await serve(ended(1));
    await expect(get(name, options).stream()).rejects.toMatchObject({ name: "StatusError", code, reason });
    expect(requests).toHaveLength(1);
  },
);

test("a caller who goes away ends the stream here and there", async () => {
  const world = new LogWorld();
  world.run("a", world.on("p1"));
  const { get } = await serve(world);
  const leaving = new AbortController();
  const stream = await get("a", { follow: true }).stream(leaving.signal);
  const all = messages(stream);
  world.pod("p1").print(world.line("a", 1, "line 1"));
  await expect.poll(() => world.observers).toBe(1);
  leaving.abort();
  await all;
  await expect.poll(() => world.observers).toBe(0);
  expect(world.pod("p1").open).toBe(0);
});
