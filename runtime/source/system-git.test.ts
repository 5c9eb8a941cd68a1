import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { systemClock } from "#kube/system.ts";
import { gitCredentials } from "#runtime/source/credentials.ts";
import { gitEnvironment, gitOptions, secretFiles, TreeSize } from "#runtime/source/git-command.ts";
import { parseGitUrl } from "#runtime/source/git-url.ts";
import { SourceFailedError } from "#runtime/source/port.ts";
import { createSystemGit, type SystemGitOptions } from "#runtime/source/system-git.ts";

let base = "";
let repository = "";
let first = "";
const identity = ["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "init.defaultBranch=main"];
const git = (cwd: string, ...args: string[]) =>
  execFileSync("git", [...identity, ...args], { cwd, encoding: "utf8" }).trim();
/** Does not compress. */
const noise = (bytes: number) =>
  Buffer.concat(Array.from({ length: bytes / 64 }, (_, i) => createHash("sha512").update(String(i)).digest()));

beforeAll(async () => {
  base = await mkdtemp(join(tmpdir(), "git-test-"));
  repository = join(base, "repo");
  await mkdir(repository);
  git(repository, "init", "--quiet");
  await writeFile(join(repository, "script"), "echo one\n");
  git(repository, "add", ".");
  git(repository, "commit", "--quiet", "-m", "one");
  first = git(repository, "rev-parse", "HEAD");
  git(repository, "tag", "v1");
  await writeFile(join(repository, "script"), "echo two\n");
  git(repository, "commit", "--quiet", "-am", "two");
  git(repository, "checkout", "--quiet", "-b", "big");
  await writeFile(join(repository, "noise"), noise(640_000));
  git(repository, "add", ".");
  git(repository, "commit", "--quiet", "-m", "noise");
  git(repository, "checkout", "--quiet", "-b", "bomb", "main");
  await writeFile(join(repository, "zeros"), Buffer.alloc(5_000_000));
  git(repository, "add", ".");
  git(repository, "commit", "--quiet", "-m", "zeros");
  git(repository, "checkout", "--quiet", "main");
});
afterAll(() => rm(base, { recursive: true, force: true }));

let target = "";
async function fresh(): Promise<string> {
  target = await mkdtemp(join(base, "target-"));
  return target;
}
afterEach(() => rm(target, { recursive: true, force: true }));

const fetcher = (options: Partial<SystemGitOptions> = {}) =>
  createSystemGit({ clock: systemClock, environment: process.env, allowFileUrls: true, ...options });
const url = () => `file://${repository}`;

test("the default branch is fetched without history and checked out", async () => {
  const { commit } = await fetcher().fetch({ url: url(), directory: await fresh() });
  expect(commit).toBe(git(repository, "rev-parse", "main"));
  expect(await readFile(join(target, "script"), "utf8")).toBe("echo two\n");
  expect(git(target, "rev-list", "--count", "HEAD")).toBe("1");
  expect(git(target, "branch", "--list")).toMatch(/detached/);
});

test.each(["v1", "refs/tags/v1", "commit"])("exactly the ref is fetched: %s", async (ref) => {
  const { commit } = await fetcher().fetch({
    url: url(),
    ref: ref === "commit" ? first : ref,
    directory: await fresh(),
  });
  expect(commit).toBe(first);
  expect(await readFile(join(target, "script"), "utf8")).toBe("echo one\n");
});

test("a ref that does not exist is told, with what is needed for a short commit id", async () => {
  const fetching = (ref: string, directory: string) => fetcher().fetch({ url: url(), ref, directory });
  await expect(fetching("nope", await fresh())).rejects.toThrow(/could not fetch nope: .*nope/);
  await expect(fetching(first.slice(0, 8), await fresh())).rejects.toThrow(/a commit needs its full id/);
  await expect(fetching("nope", await fresh())).rejects.toBeInstanceOf(SourceFailedError);
});

test("a repository that does not exist is told", async () => {
  await expect(fetcher().fetch({ url: `file://${base}/none`, directory: await fresh() })).rejects.toThrow(
    /could not fetch HEAD: .*none/,
  );
});

test("file URLs are for tests only", async () => {
  await expect(fetcher({ allowFileUrls: false }).fetch({ url: url(), directory: await fresh() })).rejects.toThrow(
    /names a file of the agent/,
  );
});

test("a directory with something in it is refused", async () => {
  await writeFile(join(await fresh(), "x"), "");
  await expect(fetcher().fetch({ url: url(), directory: target })).rejects.toThrow(/is not empty/);
});

test("a repository over the limit is stopped while it is fetched", async () => {
  const fetching = fetcher({ maxBytes: 200_000 }).fetch({ url: url(), ref: "big", directory: await fresh() });
  await expect(fetching).rejects.toThrow(/larger than 200000 bytes|at most 200000 bytes/);
  expect(await readdir(target)).toEqual([".git"]);
});

test("files that unfold over the limit are never checked out", async () => {
  const fetching = fetcher({ maxBytes: 200_000 }).fetch({ url: url(), ref: "bomb", directory: await fresh() });
  await expect(fetching).rejects.toThrow(/larger than 200000 bytes/);
  expect(await readdir(target)).toEqual([".git"]);
});

test("hooks and configuration of the machine do not run, submodules are not fetched", async () => {
  const home = join(base, "home");
  await mkdir(join(home, "template", "hooks"), { recursive: true });
  const hook = join(home, "template", "hooks", "post-checkout");
  await writeFile(hook, `#!/bin/sh\ntouch ${base}/hook-ran\n`);
  await chmod(hook, 0o755);
  await writeFile(join(home, ".gitconfig"), `[init]\n\ttemplateDir = ${home}/template\n`);
  const withModule = join(base, "with-module");
  git(base, "clone", "--quiet", repository, withModule);
  git(withModule, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", repository, "module");
  git(withModule, "commit", "--quiet", "-m", "module");
  await fetcher({ environment: { ...process.env, HOME: home, GIT_CONFIG_GLOBAL: join(home, ".gitconfig") } }).fetch({
    url: `file://${withModule}`,
    directory: await fresh(),
  });
  expect(await readdir(base)).not.toContain("hook-ran");
  expect(await readdir(join(target, "module"))).toEqual([]);
});

/** An `ssh` that notes how it was called and runs what `body` says. */
async function fakeSsh(body: string): Promise<{ environment: NodeJS.ProcessEnv; log: string }> {
  const bin = await mkdtemp(join(base, "bin-"));
  const log = join(bin, "log");
  await writeFile(
    join(bin, "ssh"),
    `#!/bin/sh\nprintf '%s\\n' "$@" >> ${log}\nfor a; do case "$a" in *key) ls -l "$a" >> ${log}; cat "$a" >> ${log};; esac; last="$a"; done\n${body}\n`,
  );
  await chmod(join(bin, "ssh"), 0o755);
  return { environment: { ...process.env, PATH: `${bin}:${process.env.PATH}` }, log };
}

/** Credentials out of a Secret with these values. */
const secret = (url: string, values: Record<string, string>) =>
  gitCredentials(url, "git", new Map(Object.entries(values).map(([key, value]) => [key, Buffer.from(value)])));

test("over ssh the key of the Secret is used, private, with known hosts only, and is gone afterwards", async () => {
  const { environment, log } = await fakeSsh('exec sh -c "$last"');
  const url = `ssh://git@example.com${repository}`;
  const credentials = secret(url, { "ssh-privatekey": "KEY", known_hosts: "example.com ...\n" });
  const request = { url, ref: "v1", credentials };
  const { commit } = await fetcher({ environment }).fetch({ ...request, directory: await fresh() });
  expect(commit).toBe(first);
  const called = await readFile(log, "utf8");
  expect(called).toMatch(/^-rw------- .*key$/m);
  expect(called).toMatch(/^KEY$/m);
  expect(called).toMatch(/^StrictHostKeyChecking=yes$/m);
  expect(called).toMatch(/^git@example\.com$/m);
  const key = /^-i\n(.*)$/m.exec(called)?.[1] ?? "";
  await expect(readFile(key)).rejects.toThrow(/ENOENT/);
});

test("git gets user and password from the Secret for the host of the URL, and for no other", async () => {
  const url = "https://example.com:8443/a";
  const credentials = secret(url, { username: "ada\n", password: "p=ss \\word", "ca.crt": "CA" });
  const access = { home: base, url: parseGitUrl(url), credentials };
  for (const [name, content] of Object.entries(secretFiles(credentials))) await writeFile(join(base, name), content);
  const fill = (host: string) =>
    execFileSync("git", [...gitOptions(access), "credential", "fill"], {
      input: `protocol=https\nhost=${host}\n\n`,
      env: gitEnvironment(process.env, access),
      encoding: "utf8",
      stdio: ["pipe", "pipe", "pipe"],
    });
  expect(fill("example.com:8443")).toMatch(/username=ada\npassword=p=ss \\word\n/);
  expect(() => fill("evil.example.com")).toThrow(/could not read Username/);
  expect(JSON.stringify([gitOptions(access), gitEnvironment({}, access)])).not.toContain("p=ss");
});

test("git sees nothing of the agent's environment but what it needs", () => {
  const env = gitEnvironment(
    { PATH: "/bin", TOKEN: "x", GIT_DIR: "/evil", HOME: "/root", https_proxy: "http://p" },
    { home: "/h", url: parseGitUrl("https://e.com/a") },
  );
  expect(env).toMatchObject({ PATH: "/bin", HOME: "/h", https_proxy: "http://p", GIT_ALLOW_PROTOCOL: "https" });
  expect(env).not.toHaveProperty("TOKEN");
  expect(env).not.toHaveProperty("GIT_DIR");
});

/** Seconds that no other process on the machine sleeps. */
const forever = (which: number) => String(which * 10_000_000 + process.pid);

/** Ids of the processes with that command line, as /proc has it (arguments ended by NULs). */
async function processes(...command: string[]): Promise<string[]> {
  const found: string[] = [];
  for (const pid of (await readdir("/proc")).filter((name) => /^\d+$/.test(name))) {
    const line = await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "");
    if (line === `${command.join("\0")}\0`) found.push(pid);
  }
  return found;
}

test("an abort kills git and its helpers at once", async () => {
  const { environment, log } = await fakeSsh(`exec sleep ${forever(1)}`);
  const url = "git@example.com:a";
  const credentials = secret(url, { "ssh-privatekey": "K", known_hosts: "example.com ..." });
  const abort = new AbortController();
  const request = { url, credentials, directory: await fresh() };
  const fetching = fetcher({ environment }).fetch(request, abort.signal);
  await expect.poll(() => readFile(log, "utf8").catch(() => ""), { timeout: 10_000 }).toContain("example.com");
  await expect.poll(() => processes("sleep", forever(1)), { timeout: 10_000 }).not.toEqual([]);
  abort.abort(new Error("cancelled"));
  await expect(fetching).rejects.toThrow("cancelled");
  await expect.poll(() => processes("sleep", forever(1)), { timeout: 10_000 }).toEqual([]);
});

test("a server that does not answer is given up", async () => {
  const { environment } = await fakeSsh(`exec sleep ${forever(2)}`);
  const url = "git@example.com:a";
  const credentials = secret(url, { "ssh-privatekey": "K", known_hosts: "example.com ..." });
  const request = { url, credentials, directory: await fresh() };
  await expect(fetcher({ environment, fetchTimeoutMs: 200 }).fetch(request)).rejects.toThrow(
    /could not fetch HEAD: it took too long/,
  );
  await expect.poll(() => processes("sleep", forever(2)), { timeout: 10_000 }).toEqual([]);
});

test("a flood of error output is cut", async () => {
  const { environment } = await fakeSsh("head -c 5000000 /dev/zero | tr '\\0' 'e' >&2; exit 1");
  const url = "git@example.com:a";
  const credentials = secret(url, { "ssh-privatekey": "K", known_hosts: "example.com ..." });
  const error = await fetcher({ environment })
    .fetch({ url, credentials, directory: await fresh() })
    .catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(SourceFailedError);
  expect(error instanceof Error && error.message.length).toBeLessThan(3000);
});

test("sizes are added up whatever the chunks and the names are", () => {
  const listing = Buffer.from(
    `100644 blob ${"a".repeat(40)}     120\ta\nb\0${`160000 commit ${"b".repeat(40)}       -\tmodule\0`}100755 blob ${"c".repeat(40)}       7\t100644 blob x  999\tü\0`,
  );
  for (const size of [1, 5, 1000]) {
    const tree = new TreeSize();
    for (let at = 0; at < listing.length; at += size) tree.push(listing.subarray(at, at + size));
    expect(tree).toMatchObject({ bytes: 127, files: 2 });
  }
});
