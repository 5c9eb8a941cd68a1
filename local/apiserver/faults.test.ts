import { expect, test } from "vitest";
import { TransportError } from "#kube/transport.ts";
import type { Fault, WatchEventFault } from "./faults.ts";
import { refusal, setup, take, widget, widgets } from "./testing/setup.ts";
import type { ServerEvent } from "./watcher.ts";

const ref = { name: "a", namespace: "default" };
const path = "/apis/example.com/v1/namespaces/default/widgets";

async function under(fault: Fault) {
  const made = setup();
  const api = made.client.of(widgets);
  const object = await api.create(widget("a", { size: 1 }));
  made.server.faults.onRequest = ({ verb, resource }) =>
    verb === "patch" && resource === "widgets.example.com" ? fault : undefined;
  return { ...made, api, object, write: () => api.patch(ref, { spec: { size: 2 } }) };
}

const refusals: Record<string, { fault: Fault; code: number; reason: string }> = {
  "a conflict": { fault: { kind: "conflict" }, code: 409, reason: "Conflict" },
  "too many requests": { fault: { kind: "tooManyRequests", retryAfterMs: 1500 }, code: 429, reason: "TooManyRequests" },
  "a request that may not be made": { fault: { kind: "forbidden" }, code: 403, reason: "Forbidden" },
  "an internal error": { fault: { kind: "internal" }, code: 500, reason: "InternalError" },
};

test.each(Object.entries(refusals))("%s writes nothing", async (_, { fault, code, reason }) => {
  const { api, write, object } = await under(fault);
  const error = await refusal(write());
  expect(error.status).toMatchObject({ code, reason });
  expect(await api.get(ref)).toEqual(object);
});

test("too many requests say when to come again", async () => {
  const { write } = await under({ kind: "tooManyRequests", retryAfterMs: 1500 });
  expect((await refusal(write())).retryAfterMs).toBe(1500);
});

test("a lost request writes nothing, a lost answer has written", async () => {
  const lost = await under({ kind: "lost" });
  await expect(lost.write()).rejects.toThrow(TransportError);
  expect((await lost.api.get(ref)).spec).toEqual({ size: 1 });
  const late = await under({ kind: "timeoutAfterCommit" });
  await expect(late.write()).rejects.toThrow(TransportError);
  expect((await late.api.get(ref)).spec).toEqual({ size: 2 });
});

test("whether a lost answer was a refusal is not told", async () => {
  const { server, client } = setup();
  server.faults.onRequest = () => ({ kind: "timeoutAfterCommit" });
  await expect(client.of(widgets).create(widget("A"))).rejects.toThrow(TransportError);
});

test("a delayed request is carried out later", async () => {
  const { api, write, clock } = await under({ kind: "delay", ms: 100 });
  const pending = write();
  await clock.elapse(99);
  expect((await api.get(ref)).spec).toEqual({ size: 1 });
  await clock.elapse(1);
  expect((await pending).spec).toEqual({ size: 2 });
});

test("an interceptor sees verb, resource, subresource, name, body and user", async () => {
  const { server, client } = setup();
  const seen: unknown[] = [];
  server.faults.onRequest = ({ verb, resource, subresource, namespace, name, body, user }) => {
    seen.push([verb, resource, subresource, namespace, name, body === undefined, user?.username]);
    return undefined;
  };
  await client.of(widgets).create(widget("a"));
  await client.of(widgets).patch(ref, { status: {} }, { subresource: "status" });
  await server.as({ username: "u" }).watch({ method: "GET", path });
  expect(seen).toEqual([
    ["create", "widgets.example.com", undefined, "default", undefined, false, undefined],
    ["patch", "widgets.example.com", "status", "default", "a", false, undefined],
    ["watch", "widgets.example.com", undefined, "default", undefined, true, "u"],
  ]);
});

async function watching(faultOf: (event: ServerEvent, watch: number) => WatchEventFault | undefined) {
  const made = setup();
  made.server.faults.onWatchEvent = ({ id }, event) => faultOf(event, id);
  const open = async (): Promise<AsyncIterable<ServerEvent>> =>
    (await made.server.watch({ method: "GET", path })) as AsyncIterable<ServerEvent>;
  return { ...made, open, api: made.client.of(widgets) };
}

const nameOf = (event: ServerEvent): string => ("name" in event.object.metadata ? event.object.metadata.name : "");

test("events may be dropped and doubled, for one watch and not another", async () => {
  const { api, open } = await watching((event, watch) =>
    watch === 2 ? undefined : { drop: nameOf(event) === "a", duplicate: nameOf(event) === "b" },
  );
  const faulty = await open();
  const sound = await open();
  for (const name of ["a", "b", "c"]) await api.create(widget(name));
  expect((await take(faulty, 3)).map(nameOf)).toEqual(["b", "b", "c"]);
  expect((await take(sound, 3)).map(nameOf)).toEqual(["a", "b", "c"]);
});

test("a delayed event holds back those behind it: order is never lost", async () => {
  const { api, open, clock } = await watching((event) => ({ delayMs: nameOf(event) === "a" ? 100 : 0 }));
  const iterator = (await open())[Symbol.asyncIterator]();
  const first = iterator.next();
  let arrived = false;
  void first.then(() => {
    arrived = true;
  });
  await api.create(widget("a"));
  await api.create(widget("b"));
  await clock.elapse(99);
  expect(arrived).toBe(false);
  await clock.elapse(1);
  expect(nameOf((await first).value)).toBe("a");
  expect(nameOf((await iterator.next()).value)).toBe("b");
});

test("a watch may break instead of delivering", async () => {
  const { api, open } = await watching((event) => ({ disconnect: nameOf(event) === "b" }));
  const iterator = (await open())[Symbol.asyncIterator]();
  await api.create(widget("a"));
  await api.create(widget("b"));
  expect(nameOf((await iterator.next()).value)).toBe("a");
  await expect(iterator.next()).rejects.toThrow(TransportError);
  expect((await iterator.next()).done).toBe(true);
});

test("requests that were carried out are counted by verb, resource and subresource", async () => {
  const { server, client } = setup();
  const api = client.of(widgets);
  await api.create(widget("a"));
  for (const phase of ["A", "B", "C"]) await api.patch(ref, { status: { phase } }, { subresource: "status" });
  await api.patch(ref, { spec: { size: 1 } });
  await refusal(api.create(widget("a")));
  await api.get(ref);
  expect(server.counters.count("patch", "widgets.example.com", "status")).toBe(3);
  expect(server.counters.count("patch", "widgets.example.com")).toBe(1);
  expect(server.counters.count("create", "widgets.example.com")).toBe(1);
  expect(server.counters.count("get", "widgets.example.com")).toBe(1);
  expect(server.counters.writes("widgets.example.com")).toBe(5);
  expect(server.counters.all()).toContainEqual({
    verb: "get",
    resource: "widgets.example.com",
    subresource: undefined,
    count: 1,
  });
  server.counters.reset();
  expect(server.counters.writes("widgets.example.com")).toBe(0);
});
