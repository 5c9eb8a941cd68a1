import { type IncomingMessage, request } from "node:http";
import { afterEach, expect, test } from "vitest";
import { TransportError } from "#kube/transport.ts";
import { type HttpListener, listen } from "./listener.ts";
import { type HttpHandler, jsonAnswer } from "./message.ts";

let listener: HttpListener | undefined;
afterEach(async () => {
  await listener?.close();
  listener = undefined;
});

interface Call {
  readonly method?: string;
  readonly body?: string;
  readonly headers?: Record<string, string>;
}

function open(path: string, { method = "GET", body, headers = {} }: Call = {}): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const outgoing = request(`${listener?.url}${path}`, { method, headers }, resolve);
    outgoing.on("error", reject);
    outgoing.end(body);
  });
}

async function call(path: string, options?: Call): Promise<{ code: number; text: string; incoming: IncomingMessage }> {
  const incoming = await open(path, options);
  let text = "";
  for await (const chunk of incoming) text += String(chunk);
  return { code: incoming.statusCode ?? 0, text, incoming };
}

const echo: HttpHandler = async ({ signal, body, ...asked }) =>
  jsonAnswer(201, { ...asked, body: body.toString("latin1"), aborted: signal.aborted });

test("a request arrives with method, path, query, headers and body", async () => {
  listener = await listen(echo);
  const headers = { "content-type": "text/x", "x-two": "2" };
  const answer = await call("/a%2Fb/c?limit=5&watch", { method: "PATCH", body: "t\u00e4xt", headers });
  expect(answer.code).toBe(201);
  expect(JSON.parse(answer.text)).toMatchObject({
    method: "PATCH",
    path: "/a%2Fb/c",
    query: { limit: "5", watch: "" },
    body: Buffer.from("t\u00e4xt").toString("latin1"),
    headers,
    aborted: false,
  });
});

test("a body that is too large is refused before it is handled", async () => {
  let handled = 0;
  listener = await listen(async () => {
    handled++;
    return jsonAnswer(200, {});
  });
  const answer = await call("/x", { method: "POST", body: "a".repeat(3 * 1024 * 1024 + 1) });
  expect(answer.code).toBe(413);
  expect(JSON.parse(answer.text)).toMatchObject({ kind: "Status", reason: "RequestEntityTooLarge" });
  expect(handled).toBe(0);
});

test("headers with several values are sent as several", async () => {
  listener = await listen(async () => jsonAnswer(200, {}, { warning: ["299 - a", "299 - b"] }));
  const { incoming } = await call("/x");
  expect(incoming.rawHeaders.filter((_, index, all) => all[index - 1] === "warning")).toEqual(["299 - a", "299 - b"]);
});

test("a handler that loses the connection answers nothing", async () => {
  listener = await listen(async () => {
    throw new TransportError("lost");
  });
  await expect(call("/x")).rejects.toThrow("socket hang up");
});

test("the pieces of a stream are sent as they come", async () => {
  let next = (_piece: string) => {};
  const piece = () => new Promise<string>((resolve) => (next = resolve));
  const first = piece();
  listener = await listen(async () => ({
    code: 200,
    headers: {},
    body: (async function* () {
      yield await first;
      yield await piece();
    })(),
  }));
  const incoming = await open("/x");
  const chunks = incoming[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  next("one\n");
  expect(String((await chunks.next()).value)).toBe("one\n");
  next("two\n");
  expect(String((await chunks.next()).value)).toBe("two\n");
  expect((await chunks.next()).done).toBe(true);
});

test("a reader that leaves ends the stream, also while it is quiet", async () => {
  let ended = 0;
  listener = await listen(async ({ signal }) => ({
    code: 200,
    headers: {},
    body: (async function* () {
      try {
        yield "first\n";
        await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
      } finally {
        ended++;
      }
    })(),
  }));
  const incoming = await open("/x");
  await new Promise<void>((resolve) => incoming.once("data", () => resolve()));
  incoming.destroy();
  await expect.poll(() => ended).toBe(1);
});

test("a port that is taken is refused, 0 takes a free one", async () => {
  listener = await listen(echo);
  expect(listener.url).toBe(`http://127.0.0.1:${listener.port}`);
  await expect(listen(echo, { port: listener.port })).rejects.toMatchObject({ code: "EADDRINUSE" });
});
