import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { stringify } from "yaml";
import { configMaps } from "#kube/builtin.ts";
import { createClient } from "#kube/client.ts";
import { httpTransport } from "#kube/http-transport.ts";
import { loadClusterAccess } from "#kube/kubeconfig.ts";
import { seededRandom } from "#kube/seeded-random.ts";
import { silentLogger } from "#kube/silent-logger.ts";
import { makeCertificate } from "#kube/testing/certificates.ts";
import { RoughServer, sendStatus } from "#kube/testing/rough-server.ts";
import { VirtualClock } from "#kube/virtual-clock.ts";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function directory() {
  const path = await mkdtemp(join(tmpdir(), "kubeconfig-"));
  cleanups.push(() => rm(path, { recursive: true }));
  return {
    path,
    write: async (name: string, text: string) => {
      await writeFile(join(path, name), text);
      return join(path, name);
    },
  };
}

function config(cluster: object, user: object, context: object = {}): string {
  return stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "c", cluster }],
    users: [{ name: "u", user }],
    contexts: [{ name: "ctx", context: { cluster: "c", user: "u", ...context } }],
    "current-context": "ctx",
  });
}

function connect(file: string, clock = new VirtualClock()) {
  const access = loadClusterAccess({ file });
  const transport = httpTransport({ ...access, clock, random: seededRandom(1), logger: silentLogger });
  cleanups.push(() => transport.close());
  return { access, maps: createClient(transport).of(configMaps) };
}

test("certificates and keys in files beside the kubeconfig, replaced while it is in use", async () => {
  const authority = makeCertificate("authority");
  const serving = makeCertificate("server", authority);
  const server = await new RoughServer({
    key: serving.key,
    cert: serving.cert,
    ca: authority.cert,
    requestCert: true,
    rejectUnauthorized: true,
  }).start();
  cleanups.push(() => server.stop());
  const peers: unknown[] = [];
  server.always(
    () => true,
    ({ incoming, serve }) => {
      peers.push((incoming.socket as import("node:tls").TLSSocket).getPeerCertificate().subject.CN);
      return serve();
    },
  );
  const { write } = await directory();
  const issue = async (name: string) => {
    const own = makeCertificate(name, authority);
    await write("client.crt", own.cert);
    await write("client.key", own.key);
  };
  await issue("first");
  await write("ca.crt", authority.cert);
  const file = await write(
    "config",
    config(
      { server: server.url, "certificate-authority": "ca.crt" },
      { "client-certificate": "client.crt", "client-key": "client.key" },
      { namespace: "team" },
    ),
  );
  const clock = new VirtualClock();
  const { access, maps } = connect(file, clock);
  expect(access.namespace).toBe("team");
  await maps.list();
  await issue("second");
  clock.advance(10_000);
  await maps.list();
  expect(peers).toEqual(["first", "second"]);
});

test("an exec plug-in runs once for many calls, and again when its token is refused", async () => {
  const server = await new RoughServer().start();
  cleanups.push(() => server.stop());
  let valid = "token-1";
  server.always(
    () => true,
    ({ incoming, response, serve }) =>
      incoming.headers.authorization === `Bearer ${valid}` ? serve() : sendStatus(response, 401, "Unauthorized"),
  );
  const { path, write } = await directory();
  await write("count", "");
  const plugin = await write(
    "plugin.cjs",
    `const fs = require("node:fs");
     const file = ${JSON.stringify(join(path, "count"))};
     fs.appendFileSync(file, "x");
     const token = "token-" + fs.readFileSync(file, "utf8").length;
     console.log(JSON.stringify({ apiVersion: "client.authentication.k8s.io/v1", kind: "ExecCredential", status: { token } }));`,
  );
  const exec = { apiVersion: "client.authentication.k8s.io/v1", command: process.execPath, args: [plugin] };
  const clock = new VirtualClock();
  const { maps } = connect(await write("config", config({ server: server.url }, { exec })), clock);
  await maps.list();
  clock.advance(60_000);
  await maps.list();
  valid = "token-2";
  await maps.list();
  expect(server.received.map(({ incoming }) => incoming.headers.authorization)).toEqual([
    "Bearer token-1",
    "Bearer token-1",
    "Bearer token-1",
    "Bearer token-2",
  ]);
});

test("a token file is read again as soon as its token is refused", async () => {
  const server = await new RoughServer().start();
  cleanups.push(() => server.stop());
  let valid = "one";
  server.always(
    () => true,
    ({ incoming, response, serve }) =>
      incoming.headers.authorization === `Bearer ${valid}` ? serve() : sendStatus(response, 401, "Unauthorized"),
  );
  const { write } = await directory();
  const tokenFile = await write("token", "one\n");
  const user = { "auth-provider": { name: "tokenFile", config: { tokenFile } } };
  const { maps } = connect(await write("config", config({ server: server.url }, user)));
  await maps.list();
  await write("token", "two\n");
  valid = "two";
  await maps.list();
  expect(server.received).toHaveLength(3);
});

test.each([
  ["token", { token: "t" }, "Bearer t"],
  ["user and password", { username: "u", password: "p" }, `Basic ${Buffer.from("u:p").toString("base64")}`],
])("a %s in the kubeconfig", async (_, user, authorization) => {
  const { write } = await directory();
  const file = await write("config", config({ server: "https://example.test" }, user));
  const { credentials, namespace, server } = loadClusterAccess({ file });
  expect(await credentials(false)).toMatchObject({ headers: { authorization } });
  expect({ namespace, server }).toEqual({ namespace: "default", server: "https://example.test" });
});

test("verification settings and impersonation are taken over", async () => {
  const { write } = await directory();
  const cluster = { server: "https://example.test", "insecure-skip-tls-verify": true, "tls-server-name": "api" };
  const file = await write("config", config(cluster, { token: "t", as: "somebody" }));
  const { headers, tls } = await loadClusterAccess({ file }).credentials(false);
  expect(tls).toMatchObject({ rejectUnauthorized: false, servername: "api" });
  expect(headers).toMatchObject({ "impersonate-user": "somebody" });
});

test.each([
  ["a context that is not there", {}, { context: "other" }, "has no context other; it has ctx"],
  ["a cluster that is not there", { cluster: "gone" }, {}, "the context ctx of the kubeconfig names no cluster"],
])("%s is refused with what to do", async (_, context, choice, message) => {
  const { write } = await directory();
  const file = await write("config", config({ server: "https://example.test" }, {}, context));
  expect(() => loadClusterAccess({ file, ...choice })).toThrow(message);
});

test.each(["null", "clusters: 5", "clusters: [null]", "contexts: [{name: ctx}]\ncurrent-context: ctx", "users: {}"])(
  "what is no kubeconfig is told so, in words about the file: %j",
  async (text) => {
    const { write } = await directory();
    const file = await write("config", text);
    const error = expect.objectContaining({ name: "Error", message: expect.stringContaining("kubeconfig") });
    expect(() => loadClusterAccess({ file })).toThrow(error);
  },
);

test("a proxy is refused, not ignored", async () => {
  const { write } = await directory();
  const cluster = { server: "https://example.test", "proxy-url": "socks5://localhost:1080" };
  const file = await write("config", config(cluster, {}));
  expect(() => loadClusterAccess({ file })).toThrow("proxies are not supported");
});
