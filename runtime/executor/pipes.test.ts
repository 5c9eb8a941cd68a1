import { closeSync, readSync, writeSync } from "node:fs";
import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { afterAll, beforeAll, expect, test } from "vitest";
import { closePipe, NamedPipes } from "#runtime/executor/pipes.ts";

let directory = "";

beforeAll(async () => {
  directory = await mkdtemp(`${tmpdir()}/pipes-`);
});
afterAll(() => rm(directory, { recursive: true }));

test("pipes carry bytes, end with their writer, and have no name once they are open", async () => {
  const pipes = new NamedPipes(`${directory}/a`, process.env.PATH);
  const before = await pipes.take();
  if (before === undefined) throw new Error("this machine has no mkfifo");
  const names = (await readdir(`${directory}/a`)).length;
  const [out, err] = before;
  writeSync(out.writeEnd, "hello");
  closeSync(out.writeEnd);
  const buffer = Buffer.alloc(10);
  expect([readSync(out.readEnd, buffer), buffer.toString("latin1", 0, 5)]).toEqual([5, "hello"]);
  expect(readSync(out.readEnd, buffer)).toBe(0);
  closeSync(out.readEnd);
  closePipe(err);
  expect(names % 2).toBe(0);
  expect(names).toBeLessThan(64 + 1);
  await pipes.close();
  expect(await readdir(directory)).toEqual([]);
});

test("more are made before they run out, also for many at once", async () => {
  const pipes = new NamedPipes(`${directory}/b`, process.env.PATH);
  const taken = await Promise.all(Array.from({ length: 100 }, () => pipes.take()));
  const ends = taken.flatMap((pair) => pair ?? []).flatMap((pipe) => [pipe.readEnd, pipe.writeEnd]);
  expect(new Set(ends).size).toBe(400);
  for (const pair of taken) for (const pipe of pair ?? []) closePipe(pipe);
  await pipes.close();
});

test("what an earlier process left in the directory is removed", async () => {
  await mkdir(`${directory}/c`);
  await writeFile(`${directory}/c/0`, "not a pipe");
  const pipes = new NamedPipes(`${directory}/c`, process.env.PATH);
  const pair = await pipes.take();
  expect(pair).toBeDefined();
  for (const pipe of pair ?? []) closePipe(pipe);
  await pipes.close();
});

test("without mkfifo there are none, and nobody waits for them", async () => {
  const pipes = new NamedPipes(`${directory}/d`, "/none");
  expect(await pipes.take()).toBeUndefined();
  expect(await pipes.take()).toBeUndefined();
  await pipes.close();
});
