import { expect, test } from "vitest";
import { type ConfigMap, configMaps } from "#kube/builtin.ts";
import { createClient, listAll } from "#kube/client.ts";
import { limitTransport } from "#kube/limit-transport.ts";
import { type ApiHandler, memoryTransport } from "#kube/memory.ts";
import { TinyApi } from "#kube/testing/tiny-api.ts";
import { type ApiRequest, isGone, TransportError } from "#kube/transport.ts";
import { VirtualClock } from "#kube/virtual-clock.ts";

const path = "/api/v1/namespaces/ns/configmaps";
const map = (name: string): ConfigMap => ({ metadata: { name, namespace: "ns" }, data: { k: "v" } });

function setup(handler?: Partial<ApiHandler>) {
  const clock = new VirtualClock();
  const api = new TinyApi();
  const server: ApiHandler = {
    handle: (request) => api.handle(request),
    watch: (request) => api.watch(request),
    ...handler,
  };
  const transport = memoryTransport(server, clock);
  return { clock, api, transport, maps: createClient(transport).of(configMaps) };
}

test("both sides own what they hold", async () => {
  const { maps } = setup();
  const sent = map("a");
  const created = await maps.create(sent);
  sent.data = { k: "changed by the caller" };
  created.data = { k: "changed by the caller" };
  expect((await maps.get({ namespace: "ns", name: "a" })).data).toEqual({ k: "v" });
});

test("a body arrives as over a wire: without undefined members, with toJSON", async () => {
  let body: unknown;
  const { transport } = setup({
    handle: async (request) => {
      body = request.body;
    },
  });
  const sent = { a: undefined, at: new Date(0), list: [undefined, { b: undefined }] };
  await transport.request({ method: "POST", path, body: sent });
  expect(body).toStrictEqual({ at: "1970-01-01T00:00:00.000Z", list: [null, {}] });
});

test("an error that is no answer becomes status 500, with its cause", async () => {
  const bug = new Error("a bug in the server");
  const { transport } = setup({
    handle() {
      throw bug;
    },
  });
  const error = await transport.request({ method: "GET", path }).catch((e: unknown) => e);
  expect(error).toMatchObject({ code: 500, reason: "InternalError", cause: bug });
});

test("a lost connection passes through", async () => {
  const { transport } = setup({ handle: () => Promise.reject(new TransportError("lost")) });
  await expect(transport.request({ method: "GET", path })).rejects.toThrow(new TransportError("lost"));
});

test("a call ends at its deadline, and the server is told", async () => {
  let signal: AbortSignal | undefined;
  const { clock, transport } = setup({
    handle(request) {
      signal = request.signal;
      return new Promise(() => {});
    },
  });
  const call = transport.request({ method: "GET", path, timeoutMs: 1000 });
  call.catch(() => {});
  await clock.elapse(1000);
  await expect(call).rejects.toThrow(`GET ${path}: no answer within 1000 ms`);
  expect(signal?.aborted).toBe(true);
  expect(clock.pending).toBe(0);
});

test("a call ends with the caller's signal, before and while it runs", async () => {
  const { clock, api, transport } = setup();
  const stop = new AbortController();
  api.before = () => new Promise(() => {});
  const call = transport.request({ method: "GET", path, signal: stop.signal });
  call.catch(() => {});
  await clock.settle();
  stop.abort(new Error("why"));
  await expect(call).rejects.toMatchObject({ name: "TransportError", cause: { message: "why" } });
  await expect(transport.request({ method: "GET", path, signal: stop.signal })).rejects.toBeInstanceOf(TransportError);
  expect(api.requests).toHaveLength(1);
});

test("a watch gives events until the reader leaves, then the server's side ends too", async () => {
  const { clock, api, maps } = setup();
  const stream = await maps.watch({ namespace: "ns", resourceVersion: "1000" });
  await maps.create(map("a"));
  const types: string[] = [];
  for await (const event of stream) {
    types.push(event.type);
    break;
  }
  await clock.settle();
  expect(types).toEqual(["ADDED"]);
  expect(api.watches).toBe(0);
});

test.each([
  ["the signal", (stop: AbortController) => stop.abort()],
  ["closing the transport", (_: AbortController, close: () => Promise<void>) => close()],
])("%s ends a watch that waits, quietly", async (_, end) => {
  const { clock, api, transport } = setup();
  const stop = new AbortController();
  const stream = await transport.stream({ method: "GET", path, query: { watch: "true" }, signal: stop.signal });
  const waiting = stream[Symbol.asyncIterator]().next();
  await clock.settle();
  expect(api.watches).toBe(1);
  await end(stop, () => transport.close());
  expect(await waiting).toEqual({ done: true, value: undefined });
  await clock.settle();
  expect(api.watches).toBe(0);
});

test("return() ends a watch that waits, also when its source never moves again", async () => {
  const { transport } = setup({
    watch: async () => ({ [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => {}) }) }),
  });
  const iterator = (await transport.stream({ method: "GET", path }))[Symbol.asyncIterator]();
  const waiting = iterator.next();
  await iterator.return?.();
  expect(await waiting).toEqual({ done: true, value: undefined });
});

test("a source that breaks throws a typed error to the reader", async () => {
  const { transport } = setup({
    async watch() {
      return (async function* () {
        yield { type: "ADDED" };
        throw new TransportError("the line broke");
      })();
    },
  });
  const seen: unknown[] = [];
  const read = async () => {
    for await (const event of await transport.stream({ method: "GET", path })) seen.push(event);
  };
  await expect(read()).rejects.toThrow("the line broke");
  expect(seen).toEqual([{ type: "ADDED" }]);
});

test("after close every call fails", async () => {
  const { transport } = setup();
  await transport.close();
  await expect(transport.request({ method: "GET", path })).rejects.toThrow("the transport is closed");
  await expect(transport.stream({ method: "GET", path })).rejects.toThrow("the transport is closed");
});

test("the client writes apiVersion and kind, deletes with preconditions, and fills in list items", async () => {
  const { api, maps } = setup();
  const { metadata } = await maps.create(map("a"));
  expect(api.requests[0]?.body).toMatchObject({ apiVersion: "v1", kind: "ConfigMap" });
  expect((await maps.list()).items[0]).toMatchObject({ apiVersion: "v1", kind: "ConfigMap" });
  const ref = { namespace: "ns", name: "a" };
  await expect(maps.delete(ref, { preconditions: { uid: "other" } })).rejects.toMatchObject({ code: 409 });
  await maps.delete(ref, { preconditions: { uid: metadata.uid }, propagationPolicy: "Background" });
  expect(api.requests.at(-1)).toMatchObject({
    method: "DELETE",
    body: {
      kind: "DeleteOptions",
      apiVersion: "v1",
      preconditions: { uid: metadata.uid },
      propagationPolicy: "Background",
    },
  });
});

test("an update without a name is refused before it is sent", () => {
  const { maps } = setup();
  expect(() => maps.update({ metadata: { name: "" } })).toThrow("ConfigMap has no metadata.name");
});

test("listAll reads all pages, and begins again when the snapshot expired", async () => {
  const { api, maps } = setup();
  for (let i = 0; i < 1100; i++) await api.handle({ method: "POST", path, body: map(`m${i}`) });
  let expire = 1;
  api.before = ({ query }) => {
    if (query?.continue?.endsWith("1000") && expire-- > 0) api.compact();
  };
  const list = await listAll(maps, { namespace: "ns" });
  expect(list.items).toHaveLength(1100);
  expect(new Set(list.items.map(({ metadata }) => metadata.name)).size).toBe(1100);
  expect(list.metadata.resourceVersion).toBe(api.version);
  expire = 99;
  await expect(listAll(maps)).rejects.toSatisfy(isGone);
});

test("a limited transport sends nothing once the right has ended, and ends what is under way", async () => {
  const { clock, api, transport } = setup();
  const right = new AbortController();
  let permitted = true;
  const limited = limitTransport(transport, { signal: right.signal, permitted: () => permitted, timeoutMs: 700 });
  const call: ApiRequest = { method: "GET", path };
  await limited.request(call);
  permitted = false;
  await expect(limited.request(call)).rejects.toThrow("the right to do so has ended");
  permitted = true;
  api.before = () => new Promise(() => {});
  const own = new AbortController();
  const late = limited.request({ ...call, signal: own.signal });
  late.catch(() => {});
  await clock.elapse(700);
  await expect(late).rejects.toThrow("no answer within 700 ms");
  const underWay = limited.request({ ...call, signal: own.signal });
  underWay.catch(() => {});
  await clock.settle();
  right.abort();
  await expect(underWay).rejects.toBeInstanceOf(TransportError);
  await expect(limited.stream(call)).rejects.toThrow("the right to do so has ended");
  expect(api.requests).toHaveLength(3);
  await limited.close();
  api.before = () => {};
  expect(await transport.request(call)).toMatchObject({ kind: "List" });
});
