import { mkdtemp, rm } from "node:fs/promises";
import { request } from "node:http";
import { createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { afterEach, beforeEach, expect, test } from "vitest";
import { forwardPort } from "#extension-api/client/port-forward.ts";
import { httpTransport } from "#kube/http-transport.ts";
import { memoryTransport } from "#kube/memory.ts";
import { silentLogger } from "#kube/silent-logger.ts";
import { systemClock, systemRandom } from "#kube/system.ts";
import { failure, StatusError, type Transport } from "#kube/transport.ts";
import { bearerCheck } from "./bearer.ts";
import { loopbackCertificate } from "./certificate.ts";
import { type HttpListener, listen } from "./listener.ts";
import { jsonAnswer } from "./message.ts";
import { portForward } from "./port-forward.ts";

const pod = { namespace: "default", name: "runtime-1" };
let directory: string;
let path: string;
let program: Server;
let listener: HttpListener;
let transport: Transport;
/** What the program in the Pod does with a connection. */
let serve: (socket: Socket) => void;
let connections: Set<Socket>;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "krt-pf-"));
  path = join(directory, "port.sock");
  connections = new Set();
  serve = (socket) => socket.pipe(socket);
  program = createServer({ allowHalfOpen: false }, (socket) => {
    connections.add(socket);
    socket.on("close", () => connections.delete(socket));
    socket.on("error", () => {});
    serve(socket);
  });
  await new Promise<void>((resolve) => program.listen(path, resolve));
  const upgrades = portForward({
    authorized: bearerCheck("t"),
    resolve: async (_, name, port) => {
      if (name !== pod.name) throw new StatusError(failure(404, "NotFound", `pods "${name}" not found`));
      return port === 80 ? path : `${path}.closed`;
    },
  });
  listener = await listen(async () => jsonAnswer(200, {}), { upgrades });
  transport = connect("t");
});
afterEach(async () => {
  await transport.close();
  await listener.close();
  for (const socket of connections) socket.destroy();
  await new Promise((resolve) => program.close(resolve));
  await rm(directory, { recursive: true, force: true });
});

const connect = (token: string) =>
  httpTransport({
    server: listener.url,
    credentials: async () => ({ headers: { authorization: `Bearer ${token}` } }),
    clock: systemClock,
    random: systemRandom,
    logger: silentLogger,
  });

/** Resolves when a number has not changed for a while. */
async function standsStill(number: () => number): Promise<void> {
  let before = -1;
  const changed = () => {
    const last = before;
    before = number();
    return last !== before;
  };
  await expect.poll(changed, { interval: 100, timeout: 10_000 }).toBe(false);
}

test("bytes go both ways, whole and in order", async () => {
  const connection = await forwardPort(transport, pod, 80);
  const sent = Buffer.from(Array.from({ length: 300_000 }, (_, n) => n % 253));
  const parts: Buffer[] = [];
  let size = 0;
  const received = new Promise<void>((resolve) => {
    connection.on("data", (part: Buffer) => {
      parts.push(part);
      size += part.length;
      if (size === sent.length) resolve();
    });
  });
  connection.write(sent);
  await received;
  expect(Buffer.concat(parts).equals(sent)).toBe(true);
  connection.destroy();
  await expect.poll(() => connections.size).toBe(0);
});

test("when the program closes, everything that it sent has arrived", async () => {
  const sent = Buffer.alloc(3_000_000, 7);
  serve = (socket) => socket.end(sent);
  const connection = await forwardPort(transport, pod, 80);
  expect((await buffer(connection)).equals(sent)).toBe(true);
});

test("a slow reader holds the program up instead of filling memory", async () => {
  let written = 0;
  serve = (socket) => {
    const chunk = Buffer.alloc(64 * 1024);
    const more = () => {
      while (written < 200_000_000) {
        written += chunk.length;
        if (!socket.write(chunk)) {
          socket.once("drain", more);
          return;
        }
      }
    };
    more();
  };
  const connection = await forwardPort(transport, pod, 80);
  await new Promise((resolve) => connection.once("readable", resolve));
  await standsStill(() => written);
  expect(written).toBeLessThan(30_000_000);
  connection.destroy();
});

test("a slow program holds the writer up", async () => {
  serve = (socket) => socket.pause();
  const connection = await forwardPort(transport, pod, 80);
  let accepted = 0;
  const chunk = Buffer.alloc(64 * 1024);
  const more = () => {
    do accepted += chunk.length;
    while (connection.write(chunk) && accepted < 100_000_000);
  };
  connection.on("drain", more);
  more();
  await standsStill(() => accepted);
  expect(accepted).toBeLessThan(30_000_000);
  connection.destroy();
});

test("a port on which nothing listens is told", async () => {
  const connection = await forwardPort(transport, pod, 81);
  await expect(buffer(connection)).rejects.toMatchObject({
    name: "TransportError",
    message: expect.stringContaining("the port does not answer"),
  });
});

test("a server that ends takes the connections along", async () => {
  const connection = await forwardPort(transport, pod, 80);
  const ended = buffer(connection);
  ended.catch(() => {});
  await listener.close();
  await expect(ended).rejects.toMatchObject({ name: "TransportError" });
});

test("a caller who gives up closes the connection", async () => {
  const leaving = new AbortController();
  const connection = await forwardPort(transport, pod, 80, leaving.signal);
  connection.on("error", () => {});
  await expect.poll(() => connections.size).toBe(1);
  leaving.abort();
  await expect.poll(() => connections.size).toBe(0);
});

test("over TLS the server must be the one that the kubeconfig names", async () => {
  const tls = loopbackCertificate(systemClock.now(), systemRandom);
  const other = loopbackCertificate(systemClock.now(), systemRandom);
  const upgrades = portForward({ authorized: bearerCheck("t"), resolve: async () => path });
  const secure = await listen(async () => jsonAnswer(200, {}), { upgrades, tls });
  const connectWith = (ca: string) =>
    httpTransport({
      server: secure.url,
      credentials: async () => ({ headers: { authorization: "Bearer t" }, tls: { ca } }),
      clock: systemClock,
      random: systemRandom,
      logger: silentLogger,
    });
  const [trusted, wrong] = [connectWith(tls.cert), connectWith(other.cert)];
  serve = (socket) => socket.end("hello");
  expect((await buffer(await forwardPort(trusted, pod, 80))).toString()).toBe("hello");
  await expect(forwardPort(wrong, pod, 80)).rejects.toMatchObject({ name: "TransportError" });
  await Promise.all([trusted.close(), wrong.close(), secure.close()]);
});

test("a token that was renewed is tried before the caller learns of a refusal", async () => {
  const renewing = httpTransport({
    server: listener.url,
    credentials: async (renew) => ({ headers: { authorization: `Bearer ${renew ? "t" : "old"}` } }),
    clock: systemClock,
    random: systemRandom,
    logger: silentLogger,
  });
  serve = (socket) => socket.end("hello");
  expect((await buffer(await forwardPort(renewing, pod, 80))).toString()).toBe("hello");
  await renewing.close();
});

const refusals: Record<string, { open: () => Promise<unknown>; code: number; says: string }> = {
  "without the token": { open: () => forwardPort(connect("wrong"), pod, 80), code: 401, says: "Unauthorized" },
  "a Pod that does not exist": {
    open: () => forwardPort(transport, { ...pod, name: "x" }, 80),
    code: 404,
    says: 'pods "x" not found',
  },
  "a port that is none": { open: () => forwardPort(transport, pod, 70_000), code: 400, says: "ports is one port" },
};

test.each(Object.entries(refusals))("refused: %s", async (_, { open, code, says }) => {
  await expect(open()).rejects.toMatchObject({ name: "StatusError", code, message: expect.stringContaining(says) });
});

const upgrades: Record<string, { upgrade: string; protocol?: string; path?: string; code: number }> = {
  "the SPDY of kubectl": { upgrade: "SPDY/3.1", code: 400 },
  "the tunnel of kubectl": { upgrade: "websocket", protocol: "SPDY/3.1+portforward.k8s.io", code: 400 },
  "another path": { upgrade: "websocket", protocol: "v4.channel.k8s.io", path: "/api/v1/pods", code: 404 },
};

test.each(Object.entries(upgrades))("refused with a Status: %s", async (_, { upgrade, protocol, code, ...rest }) => {
  const to = rest.path ?? "/api/v1/namespaces/default/pods/runtime-1/portforward?ports=80";
  const answer = await new Promise<{ code: number | undefined; text: string }>((resolve, reject) => {
    const headers = {
      authorization: "Bearer t",
      connection: "Upgrade",
      upgrade,
      ...(protocol && { "sec-websocket-protocol": protocol }),
    };
    const outgoing = request(`${listener.url}${to}`, { headers }, (incoming) => {
      let text = "";
      incoming.on("data", (part) => {
        text += part;
      });
      incoming.on("end", () => resolve({ code: incoming.statusCode, text }));
    });
    outgoing.on("error", reject);
    outgoing.end();
  });
  expect(answer.code).toBe(code);
  expect(JSON.parse(answer.text)).toMatchObject({ kind: "Status", code });
});

test("a transport without a wire says so", async () => {
  const none = memoryTransport({ handle: async () => ({}), watch: async () => (async function* () {})() }, systemClock);
  await expect(forwardPort(none, pod, 80)).rejects.toThrow("over HTTP only");
});
