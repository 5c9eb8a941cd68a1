import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { stringify } from "yaml";
import { loadClusterAccess } from "#kube/kubeconfig.ts";
import { readPlainKubeconfig } from "./plain-kubeconfig.ts";

let directory: string;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), "krt-test-"));
  for (const name of ["ca.pem", "cert.pem", "key.pem", "token"]) writeFileSync(join(directory, name), `${name}\n`);
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const data = (text: string) => Buffer.from(text).toString("base64");

function write(cluster: object, user: object, context: object = {}): string {
  const file = join(directory, "kubeconfig");
  const text = stringify({
    apiVersion: "v1",
    kind: "Config",
    "current-context": "a",
    contexts: [
      { name: "b", context: { cluster: "c", user: "u", namespace: "other" } },
      { name: "a", context: { cluster: "c", user: "u", ...context } },
    ],
    clusters: [{ name: "c", cluster: { server: "https://127.0.0.1:6443", ...cluster } }],
    users: [{ name: "u", user }],
  });
  writeFileSync(file, text);
  return file;
}

/** What the library makes of the same file is what must come out. */
const plain: Record<string, [cluster: object, user: object, context?: object]> = {
  "a token": [{ "certificate-authority-data": data("ca") }, { token: "t" }, { namespace: "team" }],
  "certificates in the file": [{}, { "client-certificate-data": data("cert"), "client-key-data": data("key") }],
  "certificates in files": [
    { "certificate-authority": "ca.pem" },
    { "client-certificate": "cert.pem", "client-key": "key.pem" },
  ],
  "another name in the certificate": [{ "tls-server-name": "kubernetes" }, { token: "t" }],
  "any certificate": [{ "insecure-skip-tls-verify": true }, { token: "t" }],
  nobody: [{}, {}],
};

test.each(Object.entries(plain))("%s is read as the library reads it", async (_, [cluster, user, context]) => {
  const file = write(cluster, user, context);
  for (const name of [undefined, "b"]) {
    const own = readPlainKubeconfig(file, name);
    const theirs = loadClusterAccess({ file, context: name });
    expect({ ...own, credentials: await own?.credentials(false) }).toEqual({
      ...theirs,
      credentials: await theirs.credentials(false),
    });
  }
});

test("a token in a file is read each time, and wins, as with kubectl; the library does not know it", async () => {
  const access = readPlainKubeconfig(write({}, { token: "t", tokenFile: "token" }), undefined);
  expect((await access?.credentials(false))?.headers).toEqual({ authorization: "Bearer token" });
  writeFileSync(join(directory, "token"), "renewed\n");
  expect((await access?.credentials(false))?.headers).toEqual({ authorization: "Bearer renewed" });
});

const others: Record<string, [cluster: object, user: object, context?: object]> = {
  "a plug-in": [{}, { exec: { apiVersion: "client.authentication.k8s.io/v1", command: "login" } }],
  "a password": [{}, { username: "ann", password: "x" }],
  impersonation: [{}, { token: "t", as: "bob" }],
  "a proxy": [{ "proxy-url": "http://proxy" }, { token: "t" }],
  "a cluster that is missing": [{}, { token: "t" }, { cluster: "none" }],
};

test.each(Object.entries(others))("%s is left to the library", (_, [cluster, user, context]) => {
  expect(readPlainKubeconfig(write(cluster, user, context), undefined)).toBeUndefined();
});

test("so is a context that is missing, and a file that is no YAML", () => {
  expect(readPlainKubeconfig(write({}, { token: "t" }), "none")).toBeUndefined();
  const file = join(directory, "broken");
  writeFileSync(file, "a: [");
  expect(readPlainKubeconfig(file, undefined)).toBeUndefined();
});
