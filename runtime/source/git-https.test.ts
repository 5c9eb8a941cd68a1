import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { systemClock } from "#kube/system.ts";
import { type GitServer, startGitServer } from "#test/integration/support/git-server.ts";
import { gitCredentials } from "./credentials.ts";
import { SourceFailedError } from "./port.ts";
import { createSystemGit } from "./system-git.ts";

const password = "p4ss w\\ord=%21";
let server: GitServer;
let directory = "";
beforeAll(async () => {
  server = await startGitServer({
    login: { username: "ada", password },
    commits: [{ script: "echo one\n" }, { script: "echo two\n" }],
  });
});
afterAll(() => server[Symbol.asyncDispose]());
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "git-https-"));
  server.passwords.length = 0;
});
afterEach(() => rm(directory, { recursive: true, force: true }));

const secret = (values: Record<string, string>) =>
  gitCredentials(server.url, "git", new Map(Object.entries(values).map(([key, value]) => [key, Buffer.from(value)])));

const git = createSystemGit({ clock: systemClock, environment: process.env });
const fetching = (values?: Record<string, string>, ref?: string, url = server.url) =>
  git.fetch({ url, directory, ...(ref !== undefined && { ref }), ...(values && { credentials: secret(values) }) });

test("user and password of a Secret open a private repository of a private authority", async () => {
  const { commit } = await fetching({ username: "ada", password, "ca.crt": server.ca });
  expect(commit).toBe(server.commits[1]);
  expect(await readFile(join(directory, "script"), "utf8")).toBe("echo two\n");
});

test("a commit is fetched by its full id", async () => {
  const { commit } = await fetching({ username: "ada", password, "ca.crt": server.ca }, server.commits[0]);
  expect(commit).toBe(server.commits[0]);
  expect(await readFile(join(directory, "script"), "utf8")).toBe("echo one\n");
});

test("nothing of the Secret stays in the clone", async () => {
  const temporary = await mkdtemp(join(tmpdir(), "git-https-"));
  vi.stubEnv("TMPDIR", temporary);
  await fetching({ username: "ada", password, "ca.crt": server.ca });
  vi.unstubAllEnvs();
  const config = await readFile(join(directory, ".git/config"), "utf8");
  expect(config).not.toContain(password);
  expect(config).not.toContain("ada");
  expect(await readdir(temporary)).toEqual([]);
  await rm(temporary, { recursive: true });
});

const wrong: Record<string, { values?: Record<string, string>; says: RegExp }> = {
  "a wrong password": { values: { username: "ada", password: "wr0ng-p4ss" }, says: /Authentication failed/ },
  "no credentials": { says: /could not read Username/ },
};

test.each(Object.entries(wrong))("%s is told in git's own words, without the password", async (_, one) => {
  const values = one.values && { ...one.values, "ca.crt": server.ca };
  const trusting = createSystemGit({
    clock: systemClock,
    environment: { ...process.env, GIT_SSL_CAINFO: join(server.repository, "../tls.crt") },
  });
  const error = await trusting
    .fetch({ url: server.url, directory, ...(values && { credentials: secret(values) }) })
    .catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(SourceFailedError);
  expect((error as Error).message).toMatch(one.says);
  expect((error as Error).message).not.toContain("wr0ng");
});

test("what a server says about the password is masked", async () => {
  await using rude = await startGitServer({
    login: { username: "ada", password },
    commits: [{ script: "" }],
    refusal: "the password wr0ng-p4ss is wrong",
  });
  const values = { username: "ada", password: "wr0ng-p4ss", "ca.crt": rude.ca };
  const credentials = gitCredentials(
    rude.url,
    "git",
    new Map(Object.entries(values).map(([k, v]) => [k, Buffer.from(v)])),
  );
  const error = await git.fetch({ url: rude.url, directory, credentials }).catch((reason: unknown) => reason);
  expect(rude.passwords).toContain("wr0ng-p4ss");
  expect((error as Error).message).toContain("the password *** is wrong");
});

test("an authority that nobody trusts gets no password", async () => {
  await expect(fetching({ username: "ada", password })).rejects.toThrow(/certificate/);
  expect(server.passwords).toEqual([]);
});

test("an authority that is trusted for one repository is so without a login, too", async () => {
  await expect(fetching({ "ca.crt": server.ca })).rejects.toThrow(/could not read Username/);
});
