/** The image of the platform holds what its components need, and works for any user. */
import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { makeCertificate } from "#kube/testing/certificates.ts";
import { Roots, runInRoot } from "./roots.ts";

let roots: Roots;
let root: string;

beforeAll(async () => {
  roots = await Roots.make();
  root = await roots.export("kruntimes");
});

afterAll(() => roots[Symbol.asyncDispose]());

const env = { PATH: "/usr/bin", HOME: "/tmp" };

const shell = (script: string, user = 65532) => runInRoot(root, ["/bin/sh", "-c", script], { env, user });

test.each([65532, 1000, 1_000_700_000])("user %i can call ssh: it has a name", async (user) => {
  const { output } = await shell("ssh -F /dev/null -o BatchMode=yes -p 1 127.0.0.1", user);
  expect(output).toContain("Connection refused");
});

test("git fetches over https from an authority that it is told, and from no other", async () => {
  await using repository = await serveRepository(await roots.writable("git"));
  const told = await runInRoot(root, ["/usr/bin/git", "ls-remote", repository.url, "HEAD"], {
    env: { ...env, GIT_SSL_CAINFO: "/authority/ca.crt" },
    mounts: { "/authority": repository.authority },
  });
  expect(told.output).toContain(repository.head);
  const untold = await shell(`git ls-remote ${repository.url}`);
  expect(untold.code).not.toBe(0);
  expect(untold.output).toMatch(/certificate/);
});

test("the authorities of the public web are there", async () => {
  const { output } = await shell("cat /etc/ssl/certs/ca-certificates.crt");
  expect(output.match(/BEGIN CERTIFICATE/g)?.length).toBeGreaterThan(100);
});

test("an unknown component is told with those that there are", async () => {
  const entry = ["/usr/lib/kruntimes/node", "/usr/lib/kruntimes/app/kruntimes.mjs"];
  const { code, output } = await runInRoot(root, [...entry, "x"]);
  expect(output).toMatch(/unknown component "x"; one of .*agent, executor, inject/);
  expect(code).toBe(2);
});

/** A repository with one commit, served as plain files. */
async function serveRepository(directory: string) {
  const run = promisify(execFile);
  const git = (...args: string[]) => run("git", ["-C", directory, "-c", "safe.directory=*", ...args]);
  await git("init", "--quiet");
  await git("-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "--quiet", "--allow-empty", "-m", "first");
  await git("update-server-info");
  const certificate = makeCertificate("repository");
  await writeFile(join(directory, "ca.crt"), certificate.cert);
  const server = createServer(certificate, async (request, response) => {
    const path = new URL(request.url ?? "", "https://localhost").pathname;
    const content = await readFile(join(directory, ".git", path)).catch(() => undefined);
    response.writeHead(content === undefined ? 404 : 200).end(content);
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    authority: directory,
    head: (await git("rev-parse", "HEAD")).stdout.trim(),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
}
