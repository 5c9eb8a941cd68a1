import { once } from "node:events";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { runs } from "#api/resources.ts";
import { type Certificate, makeCertificate } from "#kube/testing/certificates.ts";
import { type Surroundings, systemConnect } from "./connect.ts";

const authority = makeCertificate("authority");
let directory: string;
let server: Server;
/** The one token that is right. */
let token: string;
let around: Surroundings;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "pod-"));
  token = "first";
  server = serve(makeCertificate("kubernetes", authority));
  await once(server.listen(0, "127.0.0.1"), "listening");
  around = {
    env: {
      KUBERNETES_SERVICE_HOST: "127.0.0.1",
      KUBERNETES_SERVICE_PORT: String((server.address() as AddressInfo).port),
    },
    home: directory,
    tokenDirectory: directory,
  };
  await writeFile(join(directory, "token"), "first\n");
  await writeFile(join(directory, "ca.crt"), authority.cert);
  await writeFile(join(directory, "namespace"), "team-a");
});
afterEach(async () => {
  server.closeAllConnections();
  server.close();
  await rm(directory, { recursive: true });
});

/** An API server that has no Runs, for whoever has the token. */
function serve({ cert, key }: Certificate): Server {
  return createServer({ cert, key }, (request, response) => {
    const isKnown = request.headers.authorization === `Bearer ${token}`;
    const body = isKnown
      ? { kind: "RunList", apiVersion: "kruntimes.io/v1alpha1", metadata: {}, items: [] }
      : { kind: "Status", apiVersion: "v1", status: "Failure", reason: "Unauthorized", code: 401, message: "no" };
    response.writeHead(isKnown ? 200 : 401, { "content-type": "application/json" });
    response.end(JSON.stringify(body));
  });
}

test("a kubeconfig that is no YAML is named, with the place", async () => {
  const file = join(directory, "broken");
  await writeFile(file, "a: [\n");
  await expect(systemConnect({ file }, around)).rejects.toThrow(
    `the kubeconfig ${file} is no YAML: deficient indentation (2:1)`,
  );
});

test("in a Pod: its service account over TLS, in its namespace, with the token as it is now", async () => {
  const { client, namespace, close } = await systemConnect({}, around);
  expect(namespace).toBe("team-a");
  expect((await client.of(runs).list({ namespace })).items).toEqual([]);
  token = "second";
  await writeFile(join(directory, "token"), "second\n");
  expect((await client.of(runs).list({ namespace })).items).toEqual([]);
  await close();
});

test("in a Pod whose authority did not sign the server's certificate nothing is sent", async () => {
  await writeFile(join(directory, "ca.crt"), makeCertificate("another").cert);
  let asked = 0;
  server.on("request", () => asked++);
  const { client, close } = await systemConnect({}, around);
  await expect(client.of(runs).list()).rejects.toThrow(/certificate/);
  expect(asked).toBe(0);
  await close();
});

test("in a Pod there is no context to choose", async () => {
  await expect(systemConnect({ context: "prod" }, around)).rejects.toThrow(/no context prod: in a Pod/);
});

test("a kubeconfig in the home directory goes before the service account", async () => {
  await mkdir(join(directory, ".kube"));
  const config = {
    "current-context": "c",
    contexts: [{ name: "c", context: { cluster: "k", user: "u", namespace: "mine" } }],
    clusters: [{ name: "k", cluster: { server: "http://127.0.0.1:1" } }],
    users: [{ name: "u", user: { token: "t" } }],
  };
  await writeFile(join(directory, ".kube/config"), JSON.stringify(config));
  const { server: url, namespace, close } = await systemConnect({}, around);
  expect({ url, namespace }).toEqual({ url: "http://127.0.0.1:1", namespace: "mine" });
  await close();
});

test("without any of them the error says how to name a cluster", async () => {
  await expect(systemConnect({}, { ...around, env: {} })).rejects.toThrow("no cluster is configured");
});
