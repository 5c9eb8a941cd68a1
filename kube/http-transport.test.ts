import { once } from "node:events";
import { createServer, type Server } from "node:net";
import { afterEach, expect, test } from "vitest";
import { type ConfigMap, configMaps, leases } from "#kube/builtin.ts";
import { createClient } from "#kube/client.ts";
import { type HttpTransportOptions, httpTransport } from "#kube/http-transport.ts";
import { seededRandom } from "#kube/seeded-random.ts";
import { silentLogger } from "#kube/silent-logger.ts";
import { systemClock } from "#kube/system-clock.ts";
import { makeCertificate } from "#kube/testing/certificates.ts";
import { eventually } from "#kube/testing/eventually.ts";
import { isWatch, RoughServer, sendJson, sendStatus } from "#kube/testing/rough-server.ts";
import { isConflict, isNotFound, StatusError, type Transport, TransportError } from "#kube/transport.ts";
import { VirtualClock } from "#kube/virtual-clock.ts";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function roughServer(...args: ConstructorParameters<typeof RoughServer>): Promise<RoughServer> {
  const server = await new RoughServer(...args).start();
  cleanups.push(() => server.stop());
  return server;
}

function connect(server: string, options: Partial<HttpTransportOptions> = {}): Transport {
  const transport = httpTransport({
    server,
    credentials: async () => ({ headers: {} }),
    clock: systemClock,
    random: seededRandom(1),
    logger: silentLogger,
    ...options,
  });
  cleanups.push(() => transport.close());
  return transport;
}

const map = (name: string, data: Record<string, string> = {}): ConfigMap => ({
  metadata: { name, namespace: "ns" },
  data,
});
const path = "/api/v1/namespaces/ns/configmaps";
const any = () => true;

test("200 calls, one after the other and ten at a time, need a handful of connections", async () => {
  const server = await roughServer();
  const maps = createClient(connect(server.url)).of(configMaps);
  for (let i = 0; i < 100; i++) await maps.list({ namespace: "ns" });
  expect(server.connections).toBeLessThanOrEqual(2);
  for (let i = 0; i < 10; i++) await Promise.all(Array.from({ length: 10 }, () => maps.list({ namespace: "ns" })));
  expect(server.received).toHaveLength(200);
  expect(server.connections).toBeLessThanOrEqual(16);
});

test("leases do not wait behind calls that hang, and streams do not use up the connections of calls", async () => {
  const server = await roughServer();
  const client = createClient(connect(server.url, { connections: 2 }));
  const open = await Promise.all(
    Array.from({ length: 5 }, () => client.of(configMaps).watch({ namespace: "ns", resourceVersion: "1000" })),
  );
  await client.of(configMaps).list({ namespace: "ns" });
  server.always(
    ({ path: at }) => at.includes("configmaps"),
    () => {},
  );
  const hanging = Array.from({ length: 4 }, () => client.of(configMaps).list({ namespace: "ns" }));
  for (const call of hanging) call.catch(() => {});
  expect((await client.of(leases).list({ namespace: "ns" })).items).toEqual([]);
  for (const stream of open) await stream[Symbol.asyncIterator]().return?.();
  await eventually("all watches are closed", () => server.openWatches === 0);
});

test("answers of the API server come as StatusError, told apart by code and reason", async () => {
  const server = await roughServer();
  const maps = createClient(connect(server.url)).of(configMaps);
  await expect(maps.get({ namespace: "ns", name: "a" })).rejects.toSatisfy(isNotFound);
  const created = await maps.create(map("a"));
  await maps.update({ ...created, data: { k: "v" } });
  await expect(maps.update(created)).rejects.toSatisfy(isConflict);
});

test.each([
  [502, "<html>\n<h1>Bad gateway</h1></html>", 502, "Unknown", "502 Unknown: <html> <h1>Bad gateway</h1></html>"],
  [404, "404 page not found", 404, "NotFound", "404 NotFound: 404 page not found"],
  [503, "", 503, "ServiceUnavailable", "503 ServiceUnavailable"],
  [401, '{"kind":"Other"}', 401, "Unauthorized", '401 Unauthorized: {"kind":"Other"}'],
])("an answer %i that is no Status (%s) becomes one", async (sent, body, code, reason, message) => {
  const server = await roughServer();
  server.always(any, ({ response }) => {
    response.writeHead(sent).end(body);
  });
  const error = await connect(server.url)
    .request({ method: "GET", path })
    .catch((e: unknown) => e);
  expect(error).toBeInstanceOf(StatusError);
  expect(error).toMatchObject({ code, reason });
  expect((error as Error).message).toBe(`GET ${path}: ${message}`);
});

test("429 is tried again after Retry-After, spread, by the given clock", async () => {
  const server = await roughServer();
  const clock = new VirtualClock();
  server.next(any, ({ response }) => sendStatus(response, 429, "TooManyRequests", { "retry-after": "7" }));
  const call = connect(server.url, { clock }).request({ method: "GET", path });
  // The deadline of the call and the pause.
  await eventually("it waits", () => clock.pending === 2);
  const pause = (clock.nextDue() ?? 0) - clock.now();
  expect(pause).toBeGreaterThanOrEqual(7000);
  expect(pause).toBeLessThanOrEqual(7000 * 1.25);
  clock.runNext();
  expect(await call).toMatchObject({ kind: "List" });
  expect(server.received).toHaveLength(2);
});

test("after three more tries the refusal is given to the caller, with the time it names", async () => {
  const server = await roughServer();
  server.always(any, ({ response }) => sendStatus(response, 503, "ServiceUnavailable", { "retry-after": "0" }));
  const error = await connect(server.url)
    .request({ method: "POST", path, body: map("a") })
    .catch((e: unknown) => e);
  expect(error).toMatchObject({ code: 503, retryAfterMs: 0 });
  expect(server.received).toHaveLength(4);
});

test.each([
  ["a Retry-After beyond the deadline", 429, { "retry-after": "60" }, 60_000],
  ["503 without Retry-After, which may have taken effect", 503, {}, undefined],
  ["500", 500, { "retry-after": "1" }, 1000],
])("is not tried again: %s", async (_, code, headers, retryAfterMs) => {
  const server = await roughServer();
  server.always(any, ({ response }) => sendStatus(response, code, "Reason", headers));
  const error = await connect(server.url)
    .request({ method: "GET", path })
    .catch((e: unknown) => e);
  expect(error).toMatchObject({ code, retryAfterMs });
  expect(server.received).toHaveLength(1);
});

test("a signal ends the pause before the next try", async () => {
  const server = await roughServer();
  const clock = new VirtualClock();
  const stop = new AbortController();
  server.always(any, ({ response }) => sendStatus(response, 429, "TooManyRequests", { "retry-after": "9" }));
  const call = connect(server.url, { clock }).request({ method: "GET", path, signal: stop.signal });
  call.catch(() => {});
  await eventually("it waits", () => clock.pending === 2);
  stop.abort();
  await expect(call).rejects.toBeInstanceOf(TransportError);
  expect(clock.pending).toBe(0);
});

test("a server that accepts and says nothing ends the call at its deadline", async () => {
  const server = await roughServer();
  const clock = new VirtualClock();
  server.always(any, () => {});
  const call = connect(server.url, { clock }).request({ method: "GET", path, timeoutMs: 4000 });
  call.catch(() => {});
  await eventually("the request arrived", () => server.received.length === 1);
  clock.advance(4000);
  await expect(call).rejects.toThrow(`GET ${path}: no answer within 4000 ms`);
  await eventually("the connection is closed", () => server.openSockets === 0);
});

test("a server that stops within the body ends the call at its deadline", async () => {
  const server = await roughServer();
  const clock = new VirtualClock();
  server.always(any, ({ response }) => {
    response.writeHead(200, { "content-type": "application/json" });
    response.write('{"kind":');
  });
  const call = connect(server.url, { clock }).request({ method: "GET", path });
  call.catch(() => {});
  await eventually("the request arrived", () => server.received.length === 1);
  await clock.elapse(30_000);
  await expect(call).rejects.toThrow("no answer within 30000 ms");
});

test.each([
  ["no JSON", "hello", "the answer is no JSON: hello"],
  ["too large", `"${"x".repeat(5000)}"`, "the answer is larger than 4096 bytes"],
])("an answer that is %s is a TransportError", async (_, body, message) => {
  const server = await roughServer();
  server.always(any, ({ response }) => {
    response.writeHead(200).end(body);
  });
  const call = connect(server.url, { maxBodyBytes: 4096 }).request({ method: "GET", path });
  await expect(call).rejects.toThrow(message);
  await expect(call).rejects.toBeInstanceOf(TransportError);
});

test("text comes as text when the caller asks for it", async () => {
  const server = await roughServer();
  server.always(any, ({ response }) => {
    response.writeHead(200, { "content-type": "text/plain" }).end("line\n");
  });
  expect(await connect(server.url).request({ method: "GET", path: "/log", accept: "*/*" })).toBe("line\n");
});

test("nobody listens: a TransportError that names the call", async () => {
  const server = await roughServer();
  const { url } = server;
  await server.stop();
  cleanups.pop();
  const call = connect(url).request({ method: "GET", path });
  await expect(call).rejects.toBeInstanceOf(TransportError);
  await expect(call).rejects.toThrow(`GET ${path}: `);
});

test("a read on a kept connection that the server just closed is sent again, a write is not", async () => {
  const server = await roughServer();
  const maps = createClient(connect(server.url)).of(configMaps);
  await maps.list({ namespace: "ns" });
  const reset = ({ incoming }: { incoming: { socket: { destroy(): void } } }) => incoming.socket.destroy();
  server.next(any, reset);
  expect((await maps.list({ namespace: "ns" })).items).toEqual([]);
  server.next(any, reset);
  await expect(maps.create(map("a"))).rejects.toBeInstanceOf(TransportError);
  expect(server.received).toHaveLength(4);
});

test("a server that resets every read is not asked for ever", async () => {
  const server = await roughServer();
  server.always(any, ({ incoming }) => void incoming.socket.destroy());
  await expect(connect(server.url).request({ method: "GET", path })).rejects.toBeInstanceOf(TransportError);
  expect(server.received).toHaveLength(2);
});

const contentTypes = [
  [undefined, "application/merge-patch+json"],
  ["application/json-patch+json", "application/json-patch+json"],
  ["application/strategic-merge-patch+json", "application/strategic-merge-patch+json"],
] as const;

test.each(contentTypes)("a patch of type %s travels as %s", async (type, header) => {
  const server = await roughServer();
  server.always(any, ({ response }) => sendJson(response, 200, map("a")));
  const maps = createClient(connect(server.url)).of(configMaps);
  await maps.patch({ namespace: "ns", name: "a" }, { data: {} }, { ...(type ? { type } : {}), subresource: "status" });
  const { incoming, request } = server.received[0] ?? expect.fail("no request");
  expect(incoming.headers["content-type"]).toBe(header);
  expect(request).toMatchObject({ method: "PATCH", path: `${path}/a/status`, body: { data: {} } });
});

test("a server behind a path, and names and queries that need escaping", async () => {
  const server = await roughServer();
  server.always(any, ({ response }) => sendJson(response, 200, { items: [] }));
  const transport = connect(`${server.url}/clusters/c1/`);
  await transport.request({ method: "GET", path: "/api/v1/pods", query: { labelSelector: "a=b,c!=d", x: undefined } });
  expect(server.received[0]?.incoming.url).toBe("/clusters/c1/api/v1/pods?labelSelector=a%3Db%2Cc%21%3Dd");
});

test("the size of an answer is told", async () => {
  const server = await roughServer();
  server.always(any, ({ response }) => {
    response.writeHead(200).end('{"a":"ü"}');
  });
  let bytes = 0;
  await connect(server.url).request({
    method: "GET",
    path,
    onBytes: (n) => {
      bytes = n;
    },
  });
  expect(bytes).toBe(10);
});

test("a rotated token is read again after ten seconds, and at once when the old one is refused", async () => {
  const server = await roughServer();
  const clock = new VirtualClock();
  let token = "one";
  let valid = "one";
  let reads = 0;
  server.always(any, ({ incoming, response }) =>
    incoming.headers.authorization === `Bearer ${valid}`
      ? sendJson(response, 200, {})
      : sendStatus(response, 401, "Unauthorized"),
  );
  const credentials = async () => {
    reads++;
    return { headers: { authorization: `Bearer ${token}` } };
  };
  const transport = connect(server.url, { clock, credentials });
  const call = () => transport.request({ method: "GET", path });
  await Promise.all([call(), call(), call()]);
  await call();
  expect(reads).toBe(1);

  token = "two";
  clock.advance(9_999);
  await call();
  expect(server.received.at(-1)?.incoming.headers.authorization).toBe("Bearer one");
  clock.advance(1);
  valid = "two";
  await call();
  expect(reads).toBe(2);

  token = "three";
  valid = "three";
  await call();
  expect(reads).toBe(3);

  valid = "somebody else";
  await expect(call()).rejects.toMatchObject({ code: 401 });
  await expect(call()).rejects.toMatchObject({ code: 401 });
  // One more read at most: a program that gives credentials is not started for every refused call.
  expect(reads).toBeLessThanOrEqual(4);
});

test("credentials that cannot be read for a moment stay in use", async () => {
  const server = await roughServer();
  const clock = new VirtualClock();
  let broken = false;
  const credentials = async () => {
    if (broken) throw new Error("the file is being replaced");
    return { headers: { authorization: "Bearer one" } };
  };
  const transport = connect(server.url, { clock, credentials });
  await transport.request({ method: "GET", path });
  broken = true;
  clock.advance(60_000);
  await transport.request({ method: "GET", path });
  expect(server.received.at(-1)?.incoming.headers.authorization).toBe("Bearer one");
});

test("a rotated client certificate is used by new calls, while an open watch goes on", async () => {
  const authority = makeCertificate("authority");
  const serving = makeCertificate("server", authority);
  const ca = authority.cert;
  const server = await roughServer({ key: serving.key, cert: serving.cert, ca, requestCert: true });
  const peers: string[] = [];
  server.always(any, ({ incoming, serve }) => {
    const { subject } = (incoming.socket as import("node:tls").TLSSocket).getPeerCertificate();
    peers.push(String(subject.CN));
    return serve();
  });
  let own = makeCertificate("first", authority);
  const clock = new VirtualClock();
  const transport = connect(server.url, {
    clock,
    credentials: async () => ({ headers: {}, tls: { ca, cert: own.cert, key: own.key } }),
  });
  const maps = createClient(transport).of(configMaps);
  const watch = await maps.watch({ namespace: "ns", resourceVersion: "1000" });
  await maps.list({ namespace: "ns" });
  own = makeCertificate("second", authority);
  clock.advance(10_000);
  await maps.create(map("a"));
  await maps.list({ namespace: "ns" });
  expect(peers).toEqual(["first", "first", "second", "second"]);
  const { value } = await watch[Symbol.asyncIterator]().next();
  expect(value).toMatchObject({ type: "ADDED", object: { metadata: { name: "a" } } });
  await watch[Symbol.asyncIterator]().return?.();
  await eventually(
    "connections with the old certificate are closed",
    () => server.openSockets === server.connections - 2,
  );
});

test("a server with a certificate of an unknown authority is not talked to", async () => {
  const serving = makeCertificate("server", makeCertificate("authority"));
  const server = await roughServer({ key: serving.key, cert: serving.cert });
  const call = connect(server.url, {
    credentials: async () => ({ headers: {}, tls: { ca: makeCertificate("other").cert } }),
  }).request({ method: "GET", path });
  await expect(call).rejects.toBeInstanceOf(TransportError);
  expect(server.received).toHaveLength(0);
});

/** A server that answers with raw text in pieces, then does `end`. */
async function piecewise(pieces: (string | Buffer)[], end: "end" | "reset" | "hang"): Promise<Transport> {
  const server = await roughServer();
  server.always(isWatch, async ({ response }) => {
    response.writeHead(200, { "content-type": "application/json" });
    response.flushHeaders();
    for (const piece of pieces) await new Promise((resolve) => response.write(piece, resolve));
    if (end === "end") response.end();
    if (end === "reset") (response.socket as import("node:net").Socket).resetAndDestroy();
  });
  return connect(server.url, { maxLineBytes: 1000 });
}

const watchRequest = { method: "GET", path, query: { watch: "true" } } as const;

test("lines arrive whole whatever the pieces, also when a character is cut in two", async () => {
  const text = Buffer.from('{"a":"ü"}\n\n{"b":2}\n{"c":3}\n');
  const cut = text.indexOf(0xc3) + 1;
  const transport = await piecewise(
    [text.subarray(0, cut), text.subarray(cut, cut + 9), text.subarray(cut + 9)],
    "end",
  );
  const lines: unknown[] = [];
  for await (const line of await transport.stream(watchRequest)) lines.push(line);
  expect(lines).toEqual([{ a: "ü" }, { b: 2 }, { c: 3 }]);
});

test.each([
  ["half a line, then the end", ['{"a":1}\n{"b":'], "end", "broke off within a line"],
  ["half a line, then a reset", ['{"a":1}\n{"b":'], "reset", `GET ${path}`],
  ["a reset", ['{"a":1}\n'], "reset", `GET ${path}`],
  ["a line that is no JSON", ['{"a":1}\nhello\n'], "hang", "no JSON: hello"],
  ["a line without end", ['{"a":1}\n', `{"b":"${"x".repeat(2000)}`], "hang", "longer than 1000 bytes"],
] as const)("%s: the stream gives what was whole, then throws", async (_, pieces, end, message) => {
  const transport = await piecewise([...pieces], end);
  const lines: unknown[] = [];
  const read = async () => {
    for await (const line of await transport.stream(watchRequest)) lines.push(line);
  };
  await expect(read()).rejects.toSatisfy((error) => error instanceof TransportError && error.message.includes(message));
  // A reset may overtake the bytes that were sent before it.
  if (end !== "reset") expect(lines).toEqual([{ a: 1 }]);
});

test("return() ends a stream that waits, and closes its connection", async () => {
  const server = await roughServer();
  const stream = await connect(server.url).stream(watchRequest);
  const iterator = stream[Symbol.asyncIterator]();
  const waiting = iterator.next();
  await iterator.return?.();
  expect(await waiting).toEqual({ done: true, value: undefined });
  await eventually("the connection is closed", () => server.openSockets === 0);
});

test("the signal ends a stream quietly, and closes its connection", async () => {
  const server = await roughServer();
  const stop = new AbortController();
  const stream = await connect(server.url).stream({ ...watchRequest, signal: stop.signal });
  const waiting = stream[Symbol.asyncIterator]().next();
  stop.abort();
  expect(await waiting).toMatchObject({ done: true });
  await eventually("the connection is closed", () => server.openSockets === 0);
});

test("close ends streams and calls, and later calls fail", async () => {
  const server = await roughServer();
  const transport = connect(server.url);
  const waiting = (await transport.stream(watchRequest))[Symbol.asyncIterator]().next();
  server.next(
    ({ method }) => method === "POST",
    () => {},
  );
  const call = transport.request({ method: "POST", path, body: {} });
  call.catch(() => {});
  await eventually("the call arrived", () => server.received.length === 2);
  await transport.close();
  expect(await waiting).toMatchObject({ done: true });
  await expect(call).rejects.toThrow("the transport is closed");
  await expect(transport.request({ method: "GET", path })).rejects.toThrow("the transport is closed");
  await eventually("all connections are closed", () => server.openSockets === 0);
});

test("a deadline also covers the time until a stream opens, and not its life", async () => {
  const server = await roughServer();
  const clock = new VirtualClock();
  const transport = connect(server.url, { clock });
  const stream = await transport.stream(watchRequest);
  const waiting = stream[Symbol.asyncIterator]().next();
  expect(clock.pending).toBe(0);
  server.next(isWatch, () => {});
  const second = transport.stream(watchRequest);
  second.catch(() => {});
  await eventually("the request arrived", () => server.received.length === 2);
  clock.advance(30_000);
  await expect(second).rejects.toThrow("no answer within 30000 ms");
  await createClient(transport).of(configMaps).create(map("a"));
  expect(await waiting).toMatchObject({ value: { type: "ADDED" } });
});

test("a connection that is accepted and never answers TLS ends at the deadline", async () => {
  const mute: Server = createServer((socket) => socket.on("error", () => {}));
  mute.listen(0, "127.0.0.1");
  await once(mute, "listening");
  cleanups.push(() => mute.close());
  const { port } = mute.address() as import("node:net").AddressInfo;
  const call = connect(`https://127.0.0.1:${port}`).request({ method: "GET", path, timeoutMs: 50 });
  await expect(call).rejects.toThrow("no answer within 50 ms");
});
