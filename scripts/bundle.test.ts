import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { constants, tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { GrpcExecutorClient } from "#runtime/grpc-executor-client.ts";
import { bundleApp, launcherHeader } from "./bundle.ts";

let directory = "";

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "bundle-"));
  await bundleApp(join(directory, "app"));
});

afterAll(() => rm(directory, { recursive: true, force: true }));

/** Runs the bundled program where no package can be found. */
async function run(...args: string[]) {
  const entry = join(directory, "app/kruntimes.mjs");
  const { code, stderr } = await promisify(execFile)(process.execPath, [entry, ...args], { cwd: directory }).then(
    (output) => ({ code: 0, stderr: output.stderr }),
    (error: { code: number; stderr: string }) => error,
  );
  return { code, stderr };
}

test("a bundled executor serves until it is told to end", async () => {
  const socket = join(directory, "s");
  const entry = join(directory, "app/kruntimes.mjs");
  const child = spawn(process.execPath, [entry, "executor", `--socket=${socket}`, "--command=sh"], {
    cwd: directory,
    stdio: ["ignore", "ignore", "pipe"],
  });
  const [line] = await once(child.stderr, "data");
  expect(String(line)).toMatch(/"message":"serving"/);
  const client = new GrpcExecutorClient(socket);
  expect(await client.health()).toMatchObject({ healthy: true });
  client.close();
  child.kill("SIGTERM");
  expect(await once(child, "exit")).toEqual([128 + constants.signals.SIGTERM, null]);
});

test.each(["scheduler", "controller", "agent", "executor", "inject"])(
  "%s of the bundle tells what its command line lacks",
  async (component) => {
    const { code, stderr } = await run(component, "--no-such-flag");
    expect(stderr).toMatch(/no-such-flag/);
    expect(stderr).not.toMatch(/ERR_MODULE_NOT_FOUND/);
    expect(code).toBe(1);
  },
);

test("the launcher gets its lists as C", () => {
  expect(launcherHeader()).toMatch(/^#define NODE_ARGUMENTS "--max-semi-space-size=1"$/m);
  expect(launcherHeader()).toMatch(/^#define KEPT_VARIABLES "LD_PRELOAD", .*"OPENSSL_CONF"$/m);
});
