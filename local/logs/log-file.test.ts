import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import { expect, test } from "vitest";
import { systemLogFiles } from "./log-file.ts";

test("what a process had printed before it told of its end, on whatever other way, is there after the drain", async () => {
  const directory = mkdtempSync(join(tmpdir(), "krt-drain-"));
  const done = join(directory, "done");
  const go = join(directory, "go");
  // Descriptor 3 stands for the API server, over which the agent reports the end. It has something to say first, so that
  // the event loop comes to it first.
  const script = `until [ -e ${go} ]; do sleep 0.01; done; echo begun >&3; head -c 40000 /dev/zero; echo over >&3; touch ${done}`;
  const child = spawn("sh", ["-c", script], { stdio: ["ignore", "pipe", "ignore", "pipe"] });
  let printed = 0;
  child.stdout?.on("data", (part: Buffer) => {
    printed += part.length;
  });
  const ended = new Promise((resolve) => child.once("close", resolve));
  let text = "";
  const told = new Promise<{ before: number; after: number }>((resolve) => {
    child.stdio[3]?.on("data", async (part: Buffer) => {
      text += part;
      if (!text.includes("over")) return;
      const before = printed;
      await systemLogFiles.pipesDrained();
      resolve({ before, after: printed });
    });
  });
  for (let turns = 0; turns < 5; turns++) await turn();
  // Nothing is read until everything is written: the worst order.
  writeFileSync(go, "");
  const limit = performance.now() + 10_000;
  while (!existsSync(done) && performance.now() < limit);
  expect(await told).toEqual({ before: 0, after: 40_000 });
  await ended;
  rmSync(directory, { recursive: true });
});
