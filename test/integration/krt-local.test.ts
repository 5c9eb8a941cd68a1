import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { processesBelow } from "./support/krt.ts";
import { krtHere } from "./support/krt-in-process.ts";

/** Short, as sockets below it need. */
let parent: string;
let directory: string;
let kubeconfig: string;

beforeAll(async () => {
  parent = await mkdtemp("/tmp/kl-");
  directory = join(parent, "s");
  kubeconfig = join(directory, "kubeconfig");
});
afterAll(async () => {
  await local("down");
  await rm(parent, { recursive: true, force: true });
});

const local = (...args: string[]) => krtHere(kubeconfig, ["local", ...args, "--state-dir", directory]);

const here = (...args: string[]) => krtHere(kubeconfig, args);

async function podName(): Promise<string> {
  const { out } = await local("pod", "list");
  return /runtime-bash-\S+/.exec(out)?.[0] ?? "";
}

test("what is not there is told", async () => {
  expect(await local("status")).toEqual({
    code: 1,
    out: "",
    err: `krt: no local cluster runs on ${directory}\n     \`krt local up\` starts one; --state-dir names another directory.\n`,
  });
  expect(await local("down")).toEqual({ code: 0, out: `No cluster runs on ${directory}\n`, err: "" });
  expect((await local("reset", "--yes")).out).toBe(`There is nothing at ${directory}\n`);
});

test("up in the background prints the kubeconfig when the cluster can be used, also when it runs already", async () => {
  expect(await local("up", "--detach", "--runtimes", "bash")).toEqual({ code: 0, out: `${kubeconfig}\n`, err: "" });
  expect(await here("run", "--", "echo", "hello")).toEqual({ code: 0, out: "hello\n", err: "" });
  const again = await local("up", "--detach");
  expect(again).toEqual({
    code: 0,
    out: `${kubeconfig}\n`,
    err: expect.stringMatching(/^It runs already, as process \d+\.\n$/),
  });
  const foreground = await local("up");
  expect(foreground.code).toBe(1);
  expect(foreground.err).toMatch(
    /^krt: the state directory \S+ is in use by process \d+\n {5}`krt local down` stops it/,
  );
});

test("status tells where it is and what runs", async () => {
  const { code, out } = await local("status");
  expect(code).toBe(0);
  expect(out).toMatch(/^Address: +https:\/\/127\.0\.0\.1:\d+$/m);
  expect(out).toMatch(/^Process: +\d+$/m);
  expect(out).toMatch(/^Pods: +1 ready of 1$/m);
  expect(out).toMatch(/^Runs: +1: 1 Succeeded$/m);
});

test("a container is killed and comes back; a Pod is killed and replaced", async () => {
  const pod = await podName();
  expect((await local("pod", "kill", pod, "--container", "runtime")).out).toBe(
    `Container runtime of Pod ${pod} was killed\n`,
  );
  await expect.poll(async () => (await local("pod", "list")).out, { timeout: 20_000 }).toMatch(/ yes +Running +1 +/);
  expect((await local("pod", "kill", pod)).out).toBe(`Pod ${pod} is gone\n`);
  await expect.poll(podName, { timeout: 20_000 }).not.toBe(pod);
  expect((await here("run", "--", "echo", "again")).out).toBe("again\n");
  const wrong = await local("pod", "kill", "nobody");
  expect(wrong).toMatchObject({
    code: 5,
    err: expect.stringMatching(/^krt: there is no Pod nobody\n {5}There are runtime-bash-/),
  });
  expect((await local("pod", "kill", "x", "-c", "agent")).err).toContain("They have runtime and runtimed.");
});

test("down leaves nothing running; the next up knows what was", async () => {
  expect(await local("down")).toEqual({ code: 0, out: `Stopped the cluster on ${directory}\n`, err: "" });
  expect(await processesBelow(directory)).toEqual([]);
  const before = await readFile(kubeconfig, "utf8");
  expect((await local("up", "-d")).code).toBe(0);
  expect(await readFile(kubeconfig, "utf8")).toBe(before);
  expect((await here("list", "--phase", "Succeeded", "-o", "name")).out.trim().split("\n")).toHaveLength(2);
});

test("reset asks, and forgets everything; it leaves foreign directories alone", async () => {
  expect((await local("reset")).err).toBe("krt: nothing was removed\n     Answer y, or pass --yes.\n");
  expect(await local("reset", "--yes")).toEqual({ code: 0, out: `Removed ${directory}\n`, err: "" });
  expect(existsSync(directory)).toBe(false);
  expect(await processesBelow(directory)).toEqual([]);
  const foreign = await krtHere(kubeconfig, ["local", "reset", "--yes", "--state-dir", "examples"]);
  expect(foreign.code).toBe(2);
  expect(foreign.err).toMatch(/is not the directory of a local cluster\n/);
  expect(existsSync("examples/README.md")).toBe(true);
});
