import { expect, test } from "vitest";
import type { WatchEvent } from "#api/meta.ts";
import { namespaces } from "#kube/builtin.ts";
import { TransportError } from "#kube/transport.ts";
import { refusal, setup, take, type Widget, widget, widgets } from "../testing/setup.ts";
import type { ServerEvent } from "../watcher.ts";

const path = "/apis/example.com/v1/namespaces/default/widgets";
const ref = { name: "a", namespace: "default" };

function start(options = {}) {
  const made = setup(options);
  const open = async (
    query: Record<string, string> = {},
    signal?: AbortSignal,
  ): Promise<AsyncIterator<ServerEvent>> => {
    const events = await made.server.watch({ method: "GET", path, query, ...(signal === undefined ? {} : { signal }) });
    return (events as AsyncIterable<ServerEvent>)[Symbol.asyncIterator]();
  };
  return { ...made, open, api: made.client.of(widgets) };
}

/** Calls of `next` that found nothing and still wait. */
const waiting = new WeakMap<AsyncIterator<ServerEvent>, Promise<IteratorResult<ServerEvent>>>();

/** `TYPE name` of the events that are there already; `end` when the watch is over. */
async function drain(events: AsyncIterator<ServerEvent>): Promise<string[]> {
  const seen: string[] = [];
  for (;;) {
    const nothing = new Promise<undefined>((resolve) => setImmediate(() => resolve(undefined)));
    const next = waiting.get(events) ?? events.next();
    const result = await Promise.race([next, nothing]);
    if (result === undefined) {
      waiting.set(events, next);
      return seen;
    }
    waiting.delete(events);
    if (result.done) return [...seen, "end"];
    seen.push(describe(result.value));
  }
}

function describe(event: ServerEvent): string {
  if (event.type === "ERROR") return `ERROR ${event.object.code} ${event.object.reason}`;
  return event.type === "BOOKMARK" ? "BOOKMARK" : `${event.type} ${event.object.metadata.name}`;
}

test("from a version on, every later change is seen once and in order", async () => {
  const { api, open } = start();
  const a = await api.create(widget("a"));
  await api.create(widget("b"));
  const events = await open({ resourceVersion: a.metadata.resourceVersion ?? "" });
  await api.patch(ref, { spec: { size: 1 } });
  await api.delete(ref);
  expect(await drain(events)).toEqual(["ADDED b", "MODIFIED a", "DELETED a"]);
});

test.each([{}, { resourceVersion: "0" }])("without a version (%j) what exists comes first", async (query) => {
  const { api, open } = start();
  await api.create(widget("a"));
  await api.create(widget("b"));
  const events = await open(query);
  await api.delete(ref);
  expect(await drain(events)).toEqual(["ADDED a", "ADDED b", "DELETED a"]);
});

test("a list and a watch from its version miss nothing", async () => {
  const { api, open } = start();
  await api.create(widget("a"));
  const list = await api.list({ namespace: "default" });
  await api.create(widget("b"));
  const events = await open({ resourceVersion: list.metadata.resourceVersion ?? "" });
  await api.create(widget("c"));
  expect(await drain(events)).toEqual(["ADDED b", "ADDED c"]);
});

test("with a selector an object comes and goes as it begins and ceases to match", async () => {
  const { api, open } = start();
  const created = await api.create(widget("a", { color: "red" }));
  const events = await open({
    fieldSelector: "spec.color=blue",
    resourceVersion: created.metadata.resourceVersion ?? "",
  });
  await api.patch(ref, { spec: { color: "blue" } });
  await api.patch(ref, { spec: { size: 1 } });
  const left = await api.patch(ref, { spec: { color: "red" } });
  await api.patch(ref, { spec: { size: 2 } });
  await api.delete(ref);
  const seen = await take({ [Symbol.asyncIterator]: () => events }, 3);
  expect(seen.map(describe)).toEqual(["ADDED a", "MODIFIED a", "DELETED a"]);
  // the last matching form, with the version of the change that ended it
  expect(seen[2]?.object).toMatchObject({
    spec: { color: "blue", size: 1 },
    metadata: { resourceVersion: left.metadata.resourceVersion },
  });
  expect(await drain(events)).toEqual([]);
});

test("the same holds for changes replayed from history", async () => {
  const { api, open } = start();
  const created = await api.create(widget("a", { color: "red" }));
  await api.patch(ref, { spec: { color: "blue" } });
  await api.patch(ref, { spec: { color: "red" } });
  await api.patch(ref, { spec: { color: "blue" } });
  await api.delete(ref);
  const events = await open({
    fieldSelector: "spec.color=blue",
    resourceVersion: created.metadata.resourceVersion ?? "",
  });
  expect(await drain(events)).toEqual(["ADDED a", "DELETED a", "ADDED a", "DELETED a"]);
});

test("a watch of one namespace hears nothing of others, a watch of all hears everything", async () => {
  const { api, open, server, client } = start();
  await client.of(namespaces).create({ metadata: { name: "other" } });
  const here = await open();
  const everywhere = (await server.watch({
    method: "GET",
    path: "/apis/example.com/v1/widgets",
  })) as AsyncIterable<ServerEvent>;
  await api.create(widget("a", {}, { namespace: "other" }));
  await api.create(widget("b"));
  expect(await drain(here)).toEqual(["ADDED b"]);
  expect(await drain(everywhere[Symbol.asyncIterator]())).toEqual(["ADDED a", "ADDED b"]);
});

test("an object can be watched by its own path", async () => {
  const { api, server } = start();
  await api.create(widget("a"));
  await api.create(widget("b"));
  const events = (await server.watch({
    method: "GET",
    path: `${path}/a`,
    query: { watch: "1" },
  })) as AsyncIterable<ServerEvent>;
  await api.patch(ref, { spec: { size: 1 } });
  expect(await drain(events[Symbol.asyncIterator]())).toEqual(["ADDED a", "MODIFIED a"]);
});

test("from a version that history no longer reaches there is one ERROR event and the end", async () => {
  const { api, open, server } = start();
  const { metadata } = await api.create(widget("a"));
  await api.patch(ref, { spec: { size: 1 } });
  server.compact();
  const events = await open({ resourceVersion: metadata.resourceVersion ?? "" });
  const { value } = await events.next();
  expect(value).toMatchObject({
    type: "ERROR",
    object: {
      kind: "Status",
      code: 410,
      reason: "Expired",
      message: expect.stringMatching(/^too old resource version: \d+ \(\d+\)$/),
    },
  });
  expect((await events.next()).done).toBe(true);
});

test("history is bounded", async () => {
  const { api, open } = start({ watchHistory: 5 });
  const { metadata } = await api.create(widget("a"));
  for (let size = 0; size < 20; size++) await api.patch(ref, { spec: { size } });
  expect(await drain(await open({ resourceVersion: metadata.resourceVersion ?? "" }))).toEqual([
    "ERROR 410 Expired",
    "end",
  ]);
});

test("a version of the future is refused with a time to wait", async () => {
  const error = await refusal(start().open({ resourceVersion: "999999" }));
  expect(error.status).toMatchObject({
    code: 504,
    reason: "Timeout",
    details: { causes: [{ reason: "ResourceVersionTooLarge" }] },
  });
  expect(error.retryAfterMs).toBe(1000);
});

test("bookmarks tell the version of a quiet watch once a minute", async () => {
  const { api, open, clock } = start();
  const quiet = await open({ allowWatchBookmarks: "true", fieldSelector: "spec.color=none" });
  const silent = await open({ fieldSelector: "spec.color=none" });
  const { metadata } = await api.create(widget("a"));
  clock.advance(60_000);
  const { value } = await quiet.next();
  expect(value).toMatchObject({
    type: "BOOKMARK",
    object: { kind: "Widget", apiVersion: "example.com/v1", metadata: { resourceVersion: metadata.resourceVersion } },
  });
  clock.advance(60_000);
  expect(await drain(quiet)).toEqual(["BOOKMARK"]);
  expect(await drain(silent)).toEqual([]);
});

test("a streamed list ends with a marked bookmark", async () => {
  const { api, open } = start();
  await api.create(widget("a"));
  const events = await open({
    sendInitialEvents: "true",
    resourceVersionMatch: "NotOlderThan",
    allowWatchBookmarks: "true",
  });
  const seen = await take({ [Symbol.asyncIterator]: () => events }, 2);
  expect(seen.map(describe)).toEqual(["ADDED a", "BOOKMARK"]);
  expect(seen[1]?.object.metadata).toMatchObject({ annotations: { "k8s.io/initial-events-end": "true" } });
  const error = await refusal(open({ sendInitialEvents: "true" }));
  expect(error.message).toContain("sendInitialEvents requires setting resourceVersionMatch to NotOlderThan");
});

test("a watch ends after its timeout", async () => {
  const { api, open, clock } = start();
  const events = await open({ timeoutSeconds: "5" });
  await api.create(widget("a"));
  clock.advance(4999);
  expect(await drain(events)).toEqual(["ADDED a"]);
  clock.advance(1);
  expect((await events.next()).done).toBe(true);
});

test("without a timeout a watch ends between half an hour and an hour", async () => {
  const { open, clock } = start();
  const events = await open();
  clock.advance(1_800_000 - 1);
  expect(await drain(events)).toEqual([]);
  clock.advance(1_800_001);
  expect(await drain(events)).toEqual(["end"]);
});

test("a reader that is too slow is cut off after what was buffered", async () => {
  const { api, open } = start({ watchBuffer: 3 });
  const slow = await open();
  for (const name of ["a", "b", "c", "d", "e"]) await api.create(widget(name));
  expect(await drain(slow)).toEqual(["ADDED a", "ADDED b", "ADDED c", "end"]);
});

test("a slow reader does not disturb the others", async () => {
  const { api, open } = start({ watchBuffer: 2 });
  const slow = await open();
  const quick = await open();
  for (const name of ["a", "b", "c"]) {
    await api.create(widget(name));
    expect(await drain(quick)).toEqual([`ADDED ${name}`]);
  }
  expect(await drain(slow)).toEqual(["ADDED a", "ADDED b", "end"]);
});

test("what exists at the beginning does not count against the buffer", async () => {
  const { api, open } = start({ watchBuffer: 2 });
  for (const name of ["a", "b", "c", "d"]) await api.create(widget(name));
  const events = await open();
  await api.create(widget("e"));
  expect(await drain(events)).toEqual(["ADDED a", "ADDED b", "ADDED c", "ADDED d", "ADDED e"]);
});

test("an aborted signal ends the watch, also while it waits, and leaves no timer", async () => {
  const { open, clock } = start();
  const idle = clock.pending;
  const controller = new AbortController();
  const events = await open({ allowWatchBookmarks: "true" }, controller.signal);
  const next = events.next();
  expect(clock.pending).toBeGreaterThan(idle);
  controller.abort();
  expect((await next).done).toBe(true);
  expect(clock.pending).toBe(idle);
  expect((await (await open({}, controller.signal)).next()).done).toBe(true);
  expect(clock.pending).toBe(idle);
});

test("a reader that leaves the loop closes the watch", async () => {
  const { api, open, clock } = start();
  await api.create(widget("a"));
  const idle = clock.pending;
  const events = await open();
  for await (const event of { [Symbol.asyncIterator]: () => events }) {
    expect(describe(event)).toBe("ADDED a");
    break;
  }
  expect(clock.pending).toBe(idle);
});

test("closing the server ends all watches; later requests are lost", async () => {
  const { api, open, server, clock } = start();
  const events = await open({ allowWatchBookmarks: "true" });
  server.close();
  expect((await events.next()).done).toBe(true);
  expect(clock.pending).toBe(0);
  await expect(api.list({ namespace: "default" })).rejects.toThrow(TransportError);
});

test("a watch is opened as a stream and nothing else is", async () => {
  const { server, open } = start();
  expect((await refusal(server.handle({ method: "GET", path, query: { watch: "true" } }))).message).toContain(
    "open it as one",
  );
  expect((await refusal(server.watch({ method: "DELETE", path }) as Promise<unknown>)).message).toContain(
    "only GET requests",
  );
  expect((await refusal(open({ fieldSelector: "spec.size=1" }))).message).toBe("field label not supported: spec.size");
  expect((await refusal(open({ timeoutSeconds: "x" }))).code).toBe(400);
});

test("events arrive through the client with their objects", async () => {
  const { api } = start();
  const events = await api.watch({ namespace: "default" });
  await api.create(widget("a", { size: 3 }));
  const [event] = (await take(events, 1)) as WatchEvent<Widget>[];
  expect(event).toMatchObject({ type: "ADDED", object: { kind: "Widget", spec: { size: 3 } } });
});
