import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { apiAccess } from "./api-access.ts";

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "access-"));
});
afterEach(() => rm(directory, { recursive: true }));

test("in a Pod: the service of Kubernetes, with the token and the authority as they are now", async () => {
  await writeFile(join(directory, "token"), "first\n");
  await writeFile(join(directory, "ca.crt"), "authority");
  const { server, credentials } = apiAccess(
    { KUBERNETES_SERVICE_HOST: "10.0.0.1", KUBERNETES_SERVICE_PORT: "443" },
    directory,
  );
  expect(server).toBe("https://10.0.0.1:443");
  expect(await credentials(false)).toEqual({ headers: { authorization: "Bearer first" }, tls: { ca: "authority" } });
  await writeFile(join(directory, "token"), "second");
  expect((await credentials(false)).headers).toEqual({ authorization: "Bearer second" });
});

test("an IPv6 address gets its brackets", () => {
  const env = { KUBERNETES_SERVICE_HOST: "fd00::1", KUBERNETES_SERVICE_PORT: "443" };
  expect(apiAccess(env, directory).server).toBe("https://[fd00::1]:443");
});

test("under a local cluster: its address and its token file", async () => {
  const file = join(directory, "token");
  await writeFile(file, "local");
  const env = { KRUNTIMES_API_SERVER: "http://127.0.0.1:1", KRUNTIMES_TOKEN_FILE: file };
  const { server, credentials } = apiAccess({ ...env, KUBERNETES_SERVICE_HOST: "10.0.0.1" }, directory);
  expect(server).toBe("http://127.0.0.1:1");
  expect(await credentials(false)).toEqual({ headers: { authorization: "Bearer local" } });
});

test("without either the error says where such a process belongs", () => {
  expect(() => apiAccess({})).toThrow("runs in a Pod");
  expect(() => apiAccess({ KRUNTIMES_API_SERVER: "http://x" })).toThrow("KRUNTIMES_TOKEN_FILE is not");
});
