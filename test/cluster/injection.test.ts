/** The executor that the image of the platform injects works in whatever image a user has. */
import { once } from "node:events";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { GrpcExecutorClient } from "#runtime/grpc-executor-client.ts";
import { runConformance } from "#runtime/proto/conformance.ts";
import { eventsOf, exitOf, outputOf } from "#runtime/proto/conformance-tools.ts";
import { Roots, runInRoot, startInRoot } from "./roots.ts";

const inject = [
  "/usr/lib/kruntimes/tini",
  "--",
  "/usr/lib/kruntimes/node",
  "/usr/lib/kruntimes/app/kruntimes.mjs",
  "inject",
];

let roots: Roots;
let programs: string;

beforeAll(async () => {
  roots = await Roots.make();
  programs = await roots.writable("kruntimes");
  const platform = await roots.export("kruntimes");
  // Twice, as after a restart of the Pod's sandbox.
  for (const _ of [1, 2]) {
    const { code, output } = await runInRoot(platform, [...inject, "--target=/kruntimes"], {
      mounts: { "/kruntimes": programs },
    });
    expect(output).toBe("");
    expect(code).toBe(0);
  }
});

afterAll(() => roots[Symbol.asyncDispose]());

/** Starts the injected executor in a root, as the Pods of a pool do, and waits until it serves. */
async function startExecutor(root: string, env: Readonly<Record<string, string>> = {}) {
  const work = await roots.writable(`work-${Math.random().toString(36).slice(2)}`);
  const socket = join(work, "s");
  const command = ["/kruntimes/tini", "--", "/kruntimes/kruntimes", "executor", `--socket=${socket}`, "--command=sh"];
  const child = startInRoot(root, command, {
    env: { PATH: "/usr/local/bin:/usr/bin:/bin", ...env },
    mounts: { "/kruntimes": programs, [work]: work },
  });
  let log = "";
  await new Promise<void>((resolve, reject) => {
    child.stderr.on("data", (data: Buffer) => {
      log += data;
      if (log.includes('"serving"')) resolve();
    });
    child.once("exit", () => reject(new Error(`the executor ended: ${log}`)));
  });
  return {
    socket,
    work,
    async [Symbol.asyncDispose]() {
      const exit = once(child, "exit");
      child.kill("SIGKILL");
      await exit;
    },
  };
}

test("what is injected is complete, and nobody may change it", async () => {
  expect((await readdir(programs)).sort()).toEqual(["app", "kruntimes", "lib", "node", "tini"]);
  expect((await readdir(join(programs, "lib"))).sort()).toContain("ld.so");
});

describe.each(["debian", "no-libstdc++", "musl"])("in the root %s", (name) => {
  let root: string;

  beforeAll(async () => {
    root = await roots.export(name);
  });

  test("the injected executor passes the conformance suite", async () => {
    await using executor = await startExecutor(root);
    const results = await runConformance(executor.socket, executor.work);
    expect(results.filter((result) => result.error !== undefined)).toEqual([]);
    expect(results.length).toBeGreaterThan(20);
  });

  test("variables that the image sets reach its programs, whatever they are called, and not our Node", async () => {
    const variables = {
      NODE_OPTIONS: "--no-such-option",
      LD_DEBUG: "statistics",
      OPENSSL_CONF: "/no/such/file",
      "spring.profiles.active": "test",
    };
    await using executor = await startExecutor(root, variables);
    const client = new GrpcExecutorClient(executor.socket);
    const { bootId } = await client.health();
    const id = { runUid: "variables", attempt: 1 };
    const script = 'cat /proc/self/environ; test "$NODE_OPTIONS" = --no-such-option';
    await client.execute({ ...id, bootId, workingDir: executor.work, args: ["sh", "-c", script], env: {} });
    const events = await eventsOf(client, id);
    client.close();
    expect(exitOf(events)).toMatchObject({ cause: "exited", exitCode: 0 });
    const seen = outputOf(events).toString().split("\0");
    expect(seen).toEqual(expect.arrayContaining(["NODE_OPTIONS=--no-such-option", "LD_DEBUG=statistics"]));
    expect(seen.filter((entry) => entry.startsWith("KRUNTIMES_KEPT_"))).toEqual([]);
  });
});
