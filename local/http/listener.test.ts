import { request } from "node:http";
import { afterEach, expect, test } from "vitest";
import type { ApiHandler } from "#kube/memory.ts";
import { type ApiRequest, failure, StatusError } from "#kube/transport.ts";
import { type HttpListener, listen } from "./listener.ts";

let listener: HttpListener | undefined;
afterEach(async () => {
  await listener?.close();
  listener = undefined;
});

/** Answers with what it was asked, so that a test sees how the request arrived. */
function echo(): ApiHandler & { streamsEnded: number } {
  const api = {
    streamsEnded: 0,
    async handle(asked: ApiRequest) {
      if (asked.path === "/missing") throw new StatusError(failure(404, "NotFound", "no such thing"));
      if (asked.path === "/busy") throw new StatusError(failure(429, "TooManyRequests", "later"), 1500);
      const { signal, ...rest } = asked;
      return { ...rest, signalled: signal !== undefined };
    },
    async watch(asked: ApiRequest) {
      return (async function* () {
        try {
          for (let n = 0; n < 3; n++) yield { n };
          if (asked.query?.hold !== undefined) {
            await new Promise<void>((resolve) => asked.signal?.addEventListener("abort", () => resolve()));
          }
        } finally {
          api.streamsEnded++;
        }
      })();
    },
  };
  return api;
}

interface Answer {
  code: number;
  headers: Record<string, unknown>;
  text: string;
}

function call(
  path: string,
  options: { method?: string; token?: string; body?: string; contentType?: string } = {},
): Promise<Answer> {
  const { method = "GET", token = "t", body, contentType } = options;
  return new Promise((resolve, reject) => {
    const headers = {
      authorization: `Bearer ${token}`,
      ...(contentType === undefined ? {} : { "content-type": contentType }),
    };
    const outgoing = request(`${listener?.url}${path}`, { method, headers }, (incoming) => {
      let text = "";
      incoming.setEncoding("utf8");
      incoming.on("data", (chunk: string) => {
        text += chunk;
      });
      incoming.on("end", () => resolve({ code: incoming.statusCode ?? 0, headers: incoming.headers, text }));
    });
    outgoing.on("error", reject);
    outgoing.end(body);
  });
}

test("a request arrives with method, path, query, body and content type", async () => {
  listener = await listen(echo(), { token: "t" });
  const answer = await call("/apis/a/b?limit=5", {
    method: "PATCH",
    body: '{"x":1}',
    contentType: "application/merge-patch+json; charset=utf-8",
  });
  expect(answer.code).toBe(200);
  expect(JSON.parse(answer.text)).toMatchObject({
    method: "PATCH",
    path: "/apis/a/b",
    query: { limit: "5" },
    body: { x: 1 },
    contentType: "application/merge-patch+json",
    signalled: true,
  });
});

test("without the right token nothing is served", async () => {
  listener = await listen(echo(), { token: "t" });
  const answer = await call("/x", { token: "other" });
  expect(answer.code).toBe(401);
  expect(JSON.parse(answer.text)).toMatchObject({ kind: "Status", reason: "Unauthorized", code: 401 });
});

test("failures are Status objects with their code, and say when to try again", async () => {
  listener = await listen(echo(), { token: "t" });
  expect(await call("/missing")).toMatchObject({ code: 404 });
  expect(await call("/busy")).toMatchObject({ code: 429, headers: { "retry-after": "2" } });
});

test("a body that is no JSON, too large, or a strange method get a clear answer", async () => {
  listener = await listen(echo(), { token: "t" });
  expect(await call("/x", { method: "POST", body: "{" })).toMatchObject({ code: 400 });
  expect(await call("/x", { method: "POST", body: `"${"a".repeat(3 * 1024 * 1024)}"` })).toMatchObject({ code: 413 });
  expect(await call("/x", { method: "PROPFIND" })).toMatchObject({ code: 405 });
});

test("a watch is a stream of JSON lines", async () => {
  listener = await listen(echo(), { token: "t" });
  expect((await call("/x?watch=true")).text).toBe('{"n":0}\n{"n":1}\n{"n":2}\n');
});

test("a reader that leaves ends the watch", async () => {
  const api = echo();
  listener = await listen(api, { token: "t" });
  const outgoing = request(`${listener.url}/x?watch=true&hold=1`, { headers: { authorization: "Bearer t" } });
  await new Promise<void>((resolve) => {
    outgoing.on("response", (incoming) => incoming.once("data", () => resolve()));
    outgoing.end();
  });
  outgoing.destroy();
  await expect.poll(() => api.streamsEnded).toBe(1);
});
