import { Agent, get } from "node:https";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type Certificate, makeCertificate } from "#kube/testing/certificates.ts";
import { ExtensionServer, frontProxy, frontProxyCa, requestHeaders } from "#test/support/extension-server.ts";
import { LogWorld, namespace } from "#test/support/log-world.ts";
import type { LogItem } from "../logs/items.ts";
import { logPath } from "../logs/route.ts";

let world: LogWorld;
let api: ExtensionServer;
beforeEach(async () => {
  world = new LogWorld("pods/log");
  world.run("a", world.on("p1", { phase: "Succeeded" }));
  world.pod("p1").print(world.line("a", 1, "hello") + world.line("a", 2, "", { stream: "system", last: true }));
  api = new ExtensionServer();
  await api.start(world);
});
afterEach(() => api.stop());

const path = logPath(namespace, "a");

test("the API server gets the log in the name of the user", async () => {
  const { code, headers, body } = await api.ask(path);
  expect(code).toBe(200);
  expect(headers["content-type"]).toMatch("application/json");
  expect(JSON.parse(body).items).toMatchObject([{ stream: "stdout", message: "hello" }]);
});

const stranger = makeCertificate("stranger-ca");
const refused: Record<string, { client: Certificate | undefined; headers?: Record<string, string>; says: string }> = {
  "forged headers on a connection without a certificate": {
    client: undefined,
    headers: { "x-remote-user": "admin", "x-remote-group": "system:masters" },
    says: "through the Kubernetes API server only",
  },
  "forged headers with a certificate of another authority": {
    client: makeCertificate("front-proxy-client", stranger),
    says: "not signed by the authority of the aggregation layer",
  },
  "forged headers with a certificate that signs itself": {
    client: makeCertificate("front-proxy-client"),
    says: "not signed by the authority of the aggregation layer",
  },
  "a certificate of the authority with a name that is not allowed": {
    client: makeCertificate("kube-scheduler", frontProxyCa),
    says: "kube-scheduler is no name of the aggregation layer",
  },
  "a right connection that names no user": { client: frontProxy, headers: {}, says: "names no user" },
};

test.each(Object.entries(refused))(
  "identity headers are believed over verified aggregation mTLS only: %s is refused",
  async (_, { client, headers, says }) => {
    for (const asked of [path, `${path}?follow=true`, "/apis", "/openapi/v2", "/nothing"]) {
      const { code, status } = await api.ask(asked, { client, ...(headers && { headers }) });
      expect(code).toBe(401);
      expect(status()).toMatchObject({
        kind: "Status",
        apiVersion: "v1",
        status: "Failure",
        reason: "Unauthorized",
        code: 401,
      });
      expect(status().message).toContain(says);
    }
  },
);

test("plain HTTP is no connection at all", async () => {
  await expect(fetch(`http://localhost:${api.server.port}${path}`)).rejects.toThrow();
});

test("an authority that is replaced is trusted at once, and the old one no more, on open connections, too", async () => {
  const nextCa = makeCertificate("front-proxy-ca-2");
  const next = makeCertificate("front-proxy-client", nextCa);
  const agent = new Agent({ keepAlive: true, maxSockets: 1, ca: api.ca, cert: frontProxy.cert, key: frontProxy.key });
  const onOpen = () =>
    new Promise<number>((resolve, reject) => {
      get(`${api.url}${path}`, { agent, headers: { "x-remote-user": "ada" } }, (incoming) => {
        incoming.resume();
        incoming.on("end", () => resolve(incoming.statusCode ?? 0));
      }).on("error", reject);
    });
  expect(await onOpen()).toBe(200);
  expect((await api.ask(path, { client: next })).code).toBe(401);

  api.server.useRequestHeaders({ ...requestHeaders, ca: frontProxyCa.cert + nextCa.cert });
  expect((await api.ask(path, { client: next })).code).toBe(200);
  expect(await onOpen()).toBe(200);

  api.server.useRequestHeaders({ ...requestHeaders, ca: nextCa.cert });
  expect((await api.ask(path, { client: next })).code).toBe(200);
  expect((await api.ask(path)).code).toBe(401);
  expect(await onOpen()).toBe(401);
  agent.destroy();
});

test("names that are allowed change with the ConfigMap; an empty list allows all of the authority", async () => {
  const other = makeCertificate("aggregator", frontProxyCa);
  api.server.useRequestHeaders({ ...requestHeaders, allowedNames: ["aggregator"] });
  expect((await api.ask(path, { client: other })).code).toBe(200);
  expect((await api.ask(path)).code).toBe(401);
  api.server.useRequestHeaders({ ...requestHeaders, allowedNames: [] });
  expect((await api.ask(path)).code).toBe(200);
});

test("the serving certificate is replaced without a restart", async () => {
  const next = makeCertificate("localhost");
  api.server.useKeyPair(next);
  const served = await new Promise<string | undefined>((resolve, reject) => {
    const options = { agent: false, ca: next.cert, cert: frontProxy.cert, key: frontProxy.key };
    get(`${api.url}${path}`, { ...options, headers: { "x-remote-user": "ada" } }, (incoming) => {
      incoming.resume();
      resolve(incoming.statusCode?.toString());
    }).on("error", reject);
  });
  expect(served).toBe("200");
});

const failures: Record<string, { path: string; method?: string; code: number; reason: string }> = {
  "no such Run": { path: logPath(namespace, "x"), code: 404, reason: "NotFound" },
  "no such path": { path: "/apis/logs.kruntimes.io/v1alpha1/namespaces/default/runs/a", code: 404, reason: "NotFound" },
  "a path that is no text": {
    path: "/apis/logs.kruntimes.io/v1alpha1/namespaces/%ff/runs/a/log",
    code: 400,
    reason: "BadRequest",
  },
  "another method": { path, method: "DELETE", code: 405, reason: "MethodNotAllowed" },
  "a parameter that is wrong": { path: `${path}?tailLines=0`, code: 400, reason: "BadRequest" },
  "a parameter that is given twice": { path: `${path}?attempt=1&attempt=2`, code: 400, reason: "BadRequest" },
  "a parameter that nobody knows": { path: `${path}?tail=3`, code: 400, reason: "BadRequest" },
  "a cursor of another API": { path: `${path}?cursor=abc&follow=true`, code: 400, reason: "BadRequest" },
};

test.each(Object.entries(failures))(
  "every failure is a metav1.Status with its code and reason: %s",
  async (_, { path: asked, method, code, reason }) => {
    const answer = await api.ask(asked, method === undefined ? {} : { method });
    expect(answer.code).toBe(code);
    expect(answer.headers["content-type"]).toMatch("application/json");
    expect(answer.status()).toMatchObject({
      kind: "Status",
      apiVersion: "v1",
      metadata: {},
      status: "Failure",
      code,
      reason,
    });
    expect(answer.status().message).not.toBe("");
  },
);

test("a node that cannot be reached is a 503 with Retry-After before anything is sent, also for a stream", async () => {
  world.unavailable = true;
  for (const asked of [path, `${path}?follow=true`, `${path}?follow=true&cursor=start`]) {
    const answer = await api.ask(asked);
    expect(answer.code).toBe(503);
    expect(answer.headers["retry-after"]).toBe("1");
    expect(answer.status().reason).toBe("ServiceUnavailable");
  }
});

test("a 409 Conflict means the Run's assigned Pod no longer exists, for a snapshot and for a stream", async () => {
  world.deletePod("p1");
  for (const asked of [path, `${path}?follow=true`]) {
    const answer = await api.ask(asked);
    expect(answer.status()).toMatchObject({ code: 409, reason: "Conflict" });
    expect(answer.status().message).toContain("Pod p1 does not exist any more, and its log went with it");
  }
});

test("follow=true answers application/x-ndjson: each line is a record with a cursor, and a cursor resumes after its record", async () => {
  for (let n = 3; n <= 9; n++) world.pod("p1").print(world.line("a", n, `line ${n}`));
  const { headers, body } = await api.ask(`${path}?follow=true&cursor=start`);
  expect(headers["content-type"]).toBe("application/x-ndjson");
  const items = body
    .trimEnd()
    .split("\n")
    .map((line): LogItem => JSON.parse(line));
  expect(items.map(({ message }) => message)).toEqual(["hello", ...[3, 4, 5, 6, 7, 8, 9].map((n) => `line ${n}`)]);
  for (const [n, { cursor }] of items.entries()) {
    const rest = (await api.ask(`${path}?follow=true&cursor=${encodeURIComponent(cursor ?? "")}`)).body;
    expect(rest.trimEnd().split("\n").filter(Boolean)).toHaveLength(items.length - 1 - n);
  }
});

test("a replica that ends sends its followers away with a cursor, and takes no new ones", async () => {
  world.run("a", world.on("p1"));
  const following = api.ask(`${path}?follow=true`);
  await expect.poll(() => world.service.stats().followers).toBe(1);
  await expect.poll(() => world.podLogs.stats().streams).toBe(1);
  api.ending.abort();
  const last = JSON.parse((await following).body.trimEnd().split("\n").at(-1) ?? "") as LogItem;
  expect(last).toMatchObject({
    stream: "system",
    status: { code: 503, reason: "ServiceUnavailable" },
    cursor: expect.any(String),
  });
  const after = await api.ask(`${path}?follow=true`);
  expect(after.code).toBe(503);
  expect(after.headers["retry-after"]).toBe("1");
  await expect.poll(() => world.podLogs.stats().streams).toBe(0);
});
