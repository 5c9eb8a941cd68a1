import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setImmediate as turn } from "node:timers/promises";
import { afterEach, expect, test } from "vitest";
import { keyOf } from "#api/meta.ts";
import { type ConfigMap, configMaps } from "#kube/builtin.ts";
import { createClient } from "#kube/client.ts";
import { createController } from "#kube/controller.ts";
import { httpTransport } from "#kube/http-transport.ts";
import { createInformer, type InformerOptions } from "#kube/informer.ts";
import { done } from "#kube/outcome.ts";
import { seededRandom } from "#kube/seeded-random.ts";
import { silentLogger } from "#kube/silent-logger.ts";
import { systemClock } from "#kube/system-clock.ts";
import { eventually } from "#kube/testing/eventually.ts";
import { isList, isWatch, RoughServer, sendStatus } from "#kube/testing/rough-server.ts";
import { failure } from "#kube/transport.ts";
import { VirtualClock } from "#kube/virtual-clock.ts";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const map = (name: string, value = "", labels: Record<string, string> = {}): ConfigMap => ({
  metadata: { name, namespace: "ns", labels },
  data: { value },
});

/**
 * An informer over real HTTP. Its back-off and watchdog run on a virtual clock that moves only when a test says so;
 * the transport's deadlines on the real one.
 */
async function setup(options: Partial<InformerOptions<ConfigMap, never>> = {}) {
  const server = await new RoughServer().start();
  const transport = httpTransport({
    server: server.url,
    credentials: async () => ({ headers: {} }),
    clock: systemClock,
    random: seededRandom(1),
    logger: silentLogger,
  });
  const client = createClient(transport);
  const maps = client.of(configMaps);
  const clock = new VirtualClock();
  const logs: string[] = [];
  const log = (message: string) => logs.push(message);
  const informer = createInformer(client, configMaps, {
    clock,
    random: seededRandom(7),
    logger: { debug: log, info: log, warn: log, error: log },
    freeze: true,
    ...options,
  });
  const changes: string[] = [];
  informer.onChange((old, next) => {
    const what = old === undefined ? "added" : next === undefined ? "removed" : "updated";
    changes.push(`${what} ${(next ?? old)?.metadata.name}`);
  });
  const stop = new AbortController();
  cleanups.push(async () => {
    stop.abort();
    await informer.stopped();
    await transport.close();
    await server.stop();
  });
  const value = (name: string) => informer.get(`ns/${name}`)?.data?.value;
  return {
    server,
    api: server.api,
    transport,
    client,
    maps,
    clock,
    logs,
    informer,
    changes,
    stop,
    value,
    async start() {
      informer.start(stop.signal);
      await informer.whenSynced();
      await eventually("the watch is open", () => server.openWatches === 1);
    },
    /** Ends the pause after a failure, if there is one; the watchdog of a watch under way is left alone. */
    endPause() {
      if ((clock.nextDue() ?? Number.POSITIVE_INFINITY) - clock.now() <= 45_000) clock.runNext();
    },
    /** Awaits a condition while virtual time passes, so that back-offs end. */
    meanwhile: (what: string, probe: () => boolean) =>
      eventually(what, async () => {
        await clock.elapse(200);
        return probe();
      }),
    write: async (name: string, text: string) => {
      const old = await maps.get({ namespace: "ns", name });
      return maps.update({ ...old, data: { value: text } });
    },
  };
}

type Setup = Awaited<ReturnType<typeof setup>>;

/** The cache equals the server, by name and version. */
async function expectEqual({ informer, maps }: Setup): Promise<void> {
  const versions = (objects: Iterable<ConfigMap>) =>
    [...objects].map((object) => `${keyOf(object)} ${object.metadata.resourceVersion}`).sort();
  await eventually("cache and server are equal", async () => {
    const { items } = await maps.list();
    return versions(informer.values()).join() === versions(items).join();
  });
}

test("lists, then follows changes, without managedFields", async () => {
  const context = await setup();
  const { maps, informer, changes, value, write } = context;
  await maps.create(map("a", "1"));
  await context.start();
  expect(value("a")).toBe("1");
  expect(informer.get("ns/a")?.metadata).not.toHaveProperty("managedFields");
  await maps.create(map("b"));
  await write("a", "2");
  await maps.delete({ namespace: "ns", name: "b" });
  await eventually("all events are in", () => changes.length === 4);
  expect(changes).toEqual(["added a", "added b", "updated a", "removed b"]);
  expect(value("a")).toBe("2");
});

test("pages of 500, and half of that after a page above 4 MiB", async () => {
  const context = await setup();
  for (let i = 0; i < 1200; i++) {
    await context.api.handle({
      method: "POST",
      path: "/api/v1/namespaces/ns/configmaps",
      body: map(`m${i}`, i < 500 ? "x".repeat(9000) : ""),
    });
  }
  await context.start();
  expect(context.informer.size).toBe(1200);
  const limits = context.server.received
    .filter(({ request }) => isList(request))
    .map(({ request }) => request.query?.limit);
  expect(limits).toEqual(["500", "250", "250", "250"]);
});

const breaks: Record<string, (context: Setup) => unknown> = {
  "a reset in the middle of a watch": ({ server }) => server.resetWatches(),
  "half a JSON line, then the end": async ({ server }) => {
    await server.writeToWatches('{"type":"MODIFIED","object":{"meta');
    server.endWatches();
  },
  "a line that is no JSON": ({ server }) => server.writeToWatches("garbage\n"),
  "an event without a version": ({ server }) => server.writeToWatches('{"type":"ADDED","object":{"metadata":{}}}\n'),
  "an ERROR event that is not about the version": ({ server }) =>
    server.writeToWatches(
      `${JSON.stringify({ type: "ERROR", object: failure(500, "InternalError", "on purpose") })}\n`,
    ),
  "the orderly end of a watch": ({ server }) => server.endWatches(),
};

test.each(Object.entries(breaks))("%s: the watch resumes where it was, without a list", async (_, act) => {
  const context = await setup();
  const { maps, server, informer, meanwhile, value, write, changes } = context;
  await maps.create(map("a", "1"));
  await context.start();
  await write("a", "2");
  await eventually("the event is in", () => value("a") === "2");
  const version = informer.get("ns/a")?.metadata.resourceVersion;
  await act(context);
  await eventually("the watch is closed", () => server.openWatches === 0 || server.count("watch") > 1);
  await write("a", "3");
  await meanwhile("the missed event is in", () => value("a") === "3");
  expect(informer.stats().lists).toBe(1);
  expect(server.received.filter(({ request }) => isWatch(request)).at(-1)?.request.query?.resourceVersion).toBe(
    version,
  );
  expect(changes).toEqual(["added a", "updated a", "updated a"]);
});

const losses: Record<string, (context: Setup) => unknown> = {
  "410 as a status": ({ server, api }) => {
    api.compact();
    server.resetWatches();
  },
  "410 as an ERROR event": ({ server }) =>
    server.writeToWatches(`${JSON.stringify({ type: "ERROR", object: failure(410, "Expired", "too old") })}\n`),
  "a version that the server does not know (restored backup)": ({ server }) => {
    const cause = { reason: "ResourceVersionTooLarge", message: "Too large resource version" };
    const status = failure(504, "Timeout", "Too large resource version", { causes: [cause] });
    server.next(isWatch, ({ response }) => {
      response.writeHead(504).end(JSON.stringify(status));
    });
    server.resetWatches();
  },
};

test.each(Object.entries(losses))("%s: lists again, and the cache keeps its contents meanwhile", async (_, act) => {
  const context = await setup();
  const { maps, server, informer, meanwhile, changes, write } = context;
  for (const name of ["a", "b", "c"]) await maps.create(map(name, "1"));
  await context.start();
  changes.length = 0;
  let release = () => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  server.next(isList, async ({ serve }) => {
    await held;
    await serve();
  });
  // The events of these are lost to the watch.
  server.silenceWatches();
  await write("a", "2");
  await maps.delete({ namespace: "ns", name: "b" });
  await act(context);
  await meanwhile("the second list began", () => server.count("list") === 2);
  expect([...informer.values()].map(({ metadata }) => metadata.name)).toEqual(["a", "b", "c"]);
  expect(informer.synced()).toBe(true);
  expect(changes).toEqual([]);
  release();
  await meanwhile("the watch is open again", () => informer.stats().watching);
  await expectEqual(context);
  expect(changes).toEqual(["updated a", "removed b"]);
  expect(informer.stats().lists).toBe(2);
});

test.each([
  ["list", isList],
  ["watch", isWatch],
] as const)("a %s that fails again and again is tried with growing, spread pauses", async (_, matches) => {
  const context = await setup();
  const { server, clock, informer, stop, meanwhile, endPause } = context;
  const healthy = server.always(matches, ({ response }) => sendStatus(response, 500, "InternalError"));
  const times: number[] = [];
  informer.start(stop.signal);
  let seen = 0;
  await eventually("seven failures", async () => {
    const { failures } = informer.stats();
    if (failures > seen) {
      seen = failures;
      times.push(clock.monotonic());
    } else endPause();
    return seen >= 7;
  });
  const pauses = times.slice(1).map((time, i) => time - (times[i] ?? 0));
  pauses.forEach((pause, i) => {
    const full = 200 * 2 ** i;
    expect(pause).toBeGreaterThanOrEqual(full * 0.5);
    expect(pause).toBeLessThanOrEqual(full * 1.5);
  });
  expect(new Set(pauses.map((pause, i) => pause / 2 ** i)).size).toBeGreaterThan(1);
  healthy();
  await meanwhile("it recovers without help", () => informer.stats().watching);
});

test("a 429 with Retry-After is honoured", async () => {
  const context = await setup();
  const { server, clock, informer, stop } = context;
  server.next(isList, ({ response }) => sendStatus(response, 429, "TooManyRequests", { "retry-after": "60" }));
  informer.start(stop.signal);
  await eventually("it waits", () => clock.pending === 1);
  const pause = (clock.nextDue() ?? 0) - clock.now();
  expect(pause).toBeGreaterThanOrEqual(60_000);
  expect(pause).toBeLessThanOrEqual(75_000);
  clock.runNext();
  await informer.whenSynced();
  expect(server.count("list")).toBe(2);
});

test("a server that ends every watch at once is not asked in a hot loop", async () => {
  const context = await setup();
  const { server, clock, informer, stop, endPause } = context;
  server.always(isWatch, ({ response }) => {
    response.writeHead(200).end();
  });
  informer.start(stop.signal);
  await informer.whenSynced();
  const begun = clock.monotonic();
  await eventually("ten watches", async () => {
    endPause();
    return server.count("watch") >= 10;
  });
  // 0.2 + 0.4 + ... + 25.6 seconds, at least half of it.
  expect(clock.monotonic() - begun).toBeGreaterThan(50_000);
  expect(server.count("list")).toBe(1);
});

test("a connection that goes silent is noticed, and what was missed arrives", async () => {
  const context = await setup({ idleMs: 60_000 });
  const { maps, server, informer, clock, meanwhile } = context;
  await context.start();
  server.silenceWatches();
  await maps.create(map("a", "1"));
  await clock.elapse(59_000);
  expect(informer.size).toBe(0);
  await meanwhile("the missed object is in", () => informer.size === 1);
  expect(informer.stats()).toMatchObject({ lists: 1, watches: 2 });
  await eventually("the silent connection is closed", () => server.openWatches === 1);
});

test("bookmarks alone keep an idle watch alive and move its version, without a word to listeners", async () => {
  const context = await setup({ idleMs: 60_000 });
  const { api, server, informer, clock, changes, meanwhile } = context;
  await context.start();
  for (let minute = 1; minute <= 10; minute++) {
    await clock.elapse(50_000);
    api.skip(5);
    api.bookmark();
    await eventually("the bookmark is in", () => informer.stats().bookmarks === minute);
  }
  expect(informer.stats()).toMatchObject({ lists: 1, watches: 1, failures: 0 });
  expect(changes).toEqual([]);
  const { version } = api;
  api.compact();
  server.resetWatches();
  await meanwhile("the watch is open again", () => informer.stats().watches === 2 && informer.stats().watching);
  expect(server.received.filter(({ request }) => isWatch(request)).at(-1)?.request.query?.resourceVersion).toBe(
    version,
  );
  expect(informer.stats().lists).toBe(1);
});

test("changes during a slow list are not lost", async () => {
  const context = await setup();
  const { api, maps, server, informer, stop } = context;
  const post = (name: string) =>
    api.handle({ method: "POST", path: "/api/v1/namespaces/ns/configmaps", body: map(name) });
  for (let i = 0; i < 1200; i++) await post(`m${i}`);
  server.always(isList, async ({ request, serve }) => {
    if (request.query?.continue !== undefined) {
      await context.write("m0", "changed");
      await context.write("m1199", "changed");
      await maps.delete({ namespace: "ns", name: request.query.continue.endsWith(":500") ? "m1" : "m1198" });
      await maps.create(map(`new${request.query.continue.split(":")[1]}`));
    }
    await serve();
  });
  informer.start(stop.signal);
  await informer.whenSynced();
  await expectEqual(context);
  expect(informer.size).toBe(1200);
  expect(context.value("m0")).toBe("changed");
});

test("a snapshot that expires between pages is read again, the third time in one piece", async () => {
  const context = await setup();
  const { api, server } = context;
  for (let i = 0; i < 600; i++) {
    await api.handle({ method: "POST", path: "/api/v1/namespaces/ns/configmaps", body: map(`m${i}`) });
  }
  server.always(
    ({ query }) => query?.continue !== undefined,
    async ({ serve }) => {
      api.compact();
      await serve();
    },
  );
  context.informer.start(context.stop.signal);
  await context.meanwhile("the list is in", () => context.informer.synced());
  expect(context.informer.size).toBe(600);
  const lists = server.received.filter(({ request }) => isList(request)).map(({ request }) => request.query?.limit);
  expect(lists).toEqual(["500", "500", "500", "500", undefined]);
});

test.each([
  ["events of the resumed watch", false],
  ["a new list", true],
])("deleted and made again while disconnected: a removal and an addition by %s", async (_, relist) => {
  const context = await setup();
  const { api, maps, server, informer, meanwhile } = context;
  await maps.create(map("a", "old"));
  await context.start();
  const seen: string[] = [];
  informer.onChange((old, next) => seen.push(`${old?.metadata.uid ?? "-"} > ${next?.metadata.uid ?? "-"}`));
  server.resetWatches();
  await eventually("the watch is closed", () => server.openWatches === 0);
  await maps.delete({ namespace: "ns", name: "a" });
  await maps.create(map("a", "new"));
  if (relist) api.compact();
  await meanwhile("the new one is in", () => context.value("a") === "new");
  expect(seen).toEqual(["uid-1 > -", "- > uid-2"]);
});

test("selectors go to the server; an object that stops matching is reported as removed", async () => {
  const context = await setup({ namespace: "ns", labelSelector: "app=x", fieldSelector: "data.value=1" });
  const { maps, changes, informer, server } = context;
  await maps.create(map("a", "1", { app: "x" }));
  await maps.create(map("other", "1", { app: "y" }));
  await context.start();
  expect(informer.size).toBe(1);
  await context.write("a", "2");
  await eventually("it went", () => informer.size === 0);
  await context.write("a", "1");
  await eventually("it came back", () => informer.size === 1);
  expect(changes).toEqual(["added a", "removed a", "added a"]);
  for (const { request } of server.received.filter(
    ({ request: { method, query } }) => method === "GET" && query?.labelSelector,
  )) {
    expect(request).toMatchObject({
      path: "/api/v1/namespaces/ns/configmaps",
      query: { labelSelector: "app=x", fieldSelector: "data.value=1" },
    });
  }
});

test("a listener that throws disturbs neither the others nor the progress of the watch", async () => {
  const context = await setup();
  const { maps, informer, server, changes, meanwhile, logs } = context;
  informer.onChange(() => {
    throw new Error("broken listener");
  });
  const late: string[] = [];
  informer.onChange((_, next) => late.push(next?.metadata.name ?? ""));
  await context.start();
  await maps.create(map("a"));
  await eventually("the event is in", () => late.length === 1);
  expect(changes).toEqual(["added a"]);
  expect(logs).toContain("cache listener failed");
  server.resetWatches();
  await meanwhile("the watch is open again", () => informer.stats().watches === 2 && informer.stats().watching);
  const { resourceVersion } = (await maps.get({ namespace: "ns", name: "a" })).metadata;
  expect(server.received.filter(({ request }) => isWatch(request)).at(-1)?.request.query).toMatchObject({
    resourceVersion,
  });
});

const moments: Record<string, (context: Setup) => Promise<void>> = {
  "during the list": async ({ server, informer, stop }) => {
    server.always(isList, () => {});
    informer.start(stop.signal);
    await eventually("the list is under way", () => server.count("list") === 1);
  },
  "between two pages": async ({ api, server, informer, stop }) => {
    for (let i = 0; i < 600; i++) {
      await api.handle({ method: "POST", path: "/api/v1/namespaces/ns/configmaps", body: map(`m${i}`) });
    }
    server.always(
      ({ query }) => query?.continue !== undefined,
      () => {},
    );
    informer.start(stop.signal);
    await eventually("the second page is asked for", () => server.count("list") === 2);
  },
  "as the list comes in": async ({ server, informer, stop }) => {
    server.next(isList, async ({ serve }) => {
      await serve();
      stop.abort();
    });
    informer.start(stop.signal);
    await eventually("the list was served", () => stop.signal.aborted);
  },
  "while the watch opens": async ({ server, informer, stop }) => {
    server.always(isWatch, () => {});
    informer.start(stop.signal);
    await eventually("the watch is asked for", () => server.count("watch") === 1);
  },
  "during the watch": async (context) => context.start(),
  "during the pause after a failure": async ({ server, informer, stop, clock }) => {
    server.always(isList, ({ response }) => sendStatus(response, 500, "InternalError"));
    informer.start(stop.signal);
    await eventually("it waits", () => clock.pending === 1);
  },
  "before the start": async ({ informer, stop }) => {
    stop.abort();
    informer.start(stop.signal);
  },
};

test.each(Object.entries(moments))("stopped %s: nothing stays open and nothing is told any more", async (_, reach) => {
  const context = await setup();
  const { server, informer, stop, clock, api, changes } = context;
  await reach(context);
  stop.abort();
  const before = changes.length;
  await informer.stopped();
  await eventually("no watch is open", () => server.openWatches === 0 && api.watches === 0);
  expect(clock.pending).toBe(0);
  const asked = server.received.length;
  await context.maps.create(map("late"));
  await clock.elapse(120_000);
  expect(server.received).toHaveLength(asked + 1);
  expect(changes).toHaveLength(before);
});

test("starting twice is refused", async () => {
  const { informer, stop } = await setup();
  informer.start(stop.signal);
  expect(() => informer.start(stop.signal)).toThrow("started before");
});

test.each([
  ["forward", 86_400_000],
  ["back", -86_400_000],
])("a wall clock set %s by a day disturbs nothing", async (_, jump) => {
  const context = await setup();
  const { maps, clock, informer } = context;
  await context.start();
  clock.jump(jump);
  await clock.elapse(1000);
  await maps.create(map("a"));
  await eventually("the event is in", () => informer.size === 1);
  expect(informer.stats()).toMatchObject({ lists: 1, watches: 1, failures: 0 });
});

test("10,000 objects are listed without occupying the event loop for 50 ms at a time", async () => {
  // Answers are made beforehand: this measures the client, not the server in the same process.
  const padding = "x".repeat(2300);
  const item = (i: number) => ({
    ...map(`m${i}`, padding),
    metadata: { ...map(`m${i}`).metadata, resourceVersion: `${i}`, uid: `u${i}` },
  });
  const pages = Array.from({ length: 20 }, (_, page) => {
    const items = Array.from({ length: 500 }, (__, i) => item(page * 500 + i));
    return Buffer.from(
      JSON.stringify({ metadata: { resourceVersion: "9", continue: page < 19 ? String(page + 1) : "" }, items }),
    );
  });
  const server = createServer((request, response) => {
    const { searchParams } = new URL(request.url ?? "", "http://server");
    response.writeHead(200, { "content-type": "application/json" });
    if (searchParams.has("watch")) response.flushHeaders();
    else response.end(pages[Number(searchParams.get("continue") ?? 0)]);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const transport = httpTransport({
    server: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    credentials: async () => ({ headers: {} }),
    clock: systemClock,
    random: seededRandom(1),
    logger: silentLogger,
  });
  const stop = new AbortController();
  const informer = createInformer<ConfigMap, "value">(createClient(transport), configMaps, {
    clock: systemClock,
    random: seededRandom(1),
    logger: silentLogger,
    indexes: { value: ({ metadata }) => [metadata.name.slice(0, 2)] },
  });
  cleanups.push(async () => {
    stop.abort();
    await informer.stopped();
    await transport.close();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });

  // CPU time of this thread between two turns of the loop: what others do on the machine does not count.
  const cpu = () => {
    const { user, system } = process.threadCpuUsage();
    return (user + system) / 1000;
  };
  informer.start(stop.signal);
  let longest = 0;
  let before = cpu();
  while (!informer.synced()) {
    await turn();
    const now = cpu();
    longest = Math.max(longest, now - before);
    before = now;
  }
  expect(informer.size).toBe(10_000);
  expect(informer.byIndex("value", "m7")).toHaveLength(1111);
  expect(longest).toBeLessThan(50);
});

test("a server that ignores the limit does not occupy the loop with storing: 10,000 objects in slices", async () => {
  const context = await setup();
  const { api, server, informer, stop, clock } = context;
  for (let i = 0; i < 1600; i++) {
    await api.handle({ method: "POST", path: "/api/v1/namespaces/ns/configmaps", body: map(`m${i}`) });
  }
  server.always(isList, async ({ response, request }) => {
    const { limit: _, ...query } = request.query ?? {};
    response.end(JSON.stringify(await api.handle({ ...request, query })));
  });
  informer.start(stop.signal);
  const sizes = new Set<number>();
  await eventually("all are in", () => {
    sizes.add(informer.size);
    if (clock.pending > 0 && !informer.synced()) clock.runNext();
    return informer.synced();
  });
  expect([...sizes]).toEqual([0, 500, 1000, 1500, 1600]);
});

test("1,000 updates of one object come down to a few passes", async () => {
  const context = await setup();
  const { api, maps, informer } = context;
  await maps.create(map("a", "0"));
  await context.start();
  let passes = 0;
  let last: string | undefined;
  const controller = createController({
    name: "test",
    clock: systemClock,
    random: seededRandom(1),
    logger: silentLogger,
    workers: 4,
    async reconcile(key) {
      passes++;
      // One call of the API, as a pass does.
      await maps.get({ namespace: "ns", name: "a" });
      last = informer.get(key)?.data?.value;
      return done;
    },
  });
  informer.onChange((old, next) => controller.enqueue(keyOf(next ?? old ?? expect.fail("neither"))));
  controller.start(context.stop.signal);
  for (let i = 1; i <= 1000; i++) {
    await api.handle({
      method: "PATCH",
      path: "/api/v1/namespaces/ns/configmaps/a",
      body: { data: { value: String(i) } },
    });
    if (i % 50 === 0) await turn();
  }
  await eventually("the last value was seen by a pass", () => last === "1000");
  await controller.idle();
  expect(informer.stats().events).toBe(1000);
  expect(passes).toBeLessThan(100);
  await controller.stop();
});

test("several informers that were refused together come back spread", async () => {
  const context = await setup();
  const { server, client, clock, stop } = context;
  server.always(isList, ({ response }) => sendStatus(response, 429, "TooManyRequests", { "retry-after": "60" }));
  const random = seededRandom(3);
  const informers = Array.from({ length: 5 }, () =>
    createInformer(client, configMaps, { clock, random, logger: silentLogger }),
  );
  for (const informer of informers) informer.start(stop.signal);
  await eventually("all wait", () => clock.pending === 5);
  const dues = new Set<number>();
  while (dues.size < 5 && clock.pending > 0) {
    dues.add(clock.nextDue() ?? 0);
    clock.runNext();
  }
  expect(dues.size).toBe(5);
});
