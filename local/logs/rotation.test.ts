import { existsSync, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, expect, test } from "vitest";
import { FileLines } from "../node/file-lines.ts";
import { defaultLogLimits } from "../node/log-segments.ts";
import { FileLog } from "./line-file.ts";
import { systemLogFiles } from "./log-file.ts";

let directory: string;
let path: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "krt-rotation-"));
  path = join(directory, "runtimed.log");
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

const limits = { fileBytes: 1000, files: 3 };
const open = () => new FileLog({ path, files: systemLogFiles, onGrowth: () => () => {} });
const anything = Buffer.alloc(0);
const line = (n: number) => `line ${n} ${"x".repeat(80)}\n`;
const append = (files: FileLines, from: number, to: number) => {
  for (let n = from; n <= to; n++) files.append(path, Buffer.from(line(n)));
};

async function numbers(log: FileLog, from?: string): Promise<number[]> {
  const found: number[] = [];
  for await (const { lines } of log.forwards(anything, from)) for (const { text } of lines) found.push(numberOf(text));
  return found;
}
const numberOf = (text: string) => Number(text.split(" ")[1]);
const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, n) => from + n);

test("a log takes no more room than its limit, and the newest lines are what is kept", async () => {
  const files = new FileLines(limits);
  append(files, 1, 500);
  const names = readdirSync(directory);
  expect(names).toHaveLength(limits.files);
  for (const name of names) expect(statSync(join(directory, name)).size).toBeLessThanOrEqual(limits.fileBytes);
  const log = open();
  const kept = await numbers(log);
  expect(kept).toEqual(range(kept[0] ?? 0, 500));
  expect(kept.length).toBeGreaterThan(20);
  await log.close();
  files.close();
});

test("the limits are those of a kubelet that nobody has configured", () => {
  expect(defaultLogLimits).toEqual({ fileBytes: 10 * 1024 * 1024, files: 5 });
});

test("a reader that stays gets each line once over every change of files, also when it is read from the other end", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.integer({ min: 0, max: 12 }), { maxLength: 30 }), async (steps) => {
      rmSync(directory, { recursive: true });
      directory = mkdtempSync(join(tmpdir(), "krt-rotation-"));
      path = join(directory, "runtimed.log");
      const files = new FileLines(limits);
      append(files, 1, 1);
      const log = open();
      const followed: number[] = [];
      let place: string | undefined;
      let printed = 1;
      for (const step of steps) {
        append(files, printed + 1, printed + step);
        printed += step;
        for await (const { lines, end } of log.forwards(anything, place)) {
          followed.push(...lines.map(({ text }) => numberOf(text)));
          place = end;
        }
      }
      expect(followed).toEqual(steps.length === 0 ? [] : range(1, printed));
      const backwards: number[] = [];
      for await (const batch of log.backwards(anything, await log.end(), Number.NEGATIVE_INFINITY)) {
        backwards.unshift(...batch.map(({ text }) => numberOf(text)));
      }
      expect(backwards).toEqual(await numbers(log));
      await log.close();
      files.close();
    }),
    { numRuns: 60 },
  );
});

test("a place that is not kept any more is none to go on from; who was there gets what is left", async () => {
  const files = new FileLines(limits);
  append(files, 1, 3);
  const log = open();
  const place = await log.end();
  expect(await log.has(place)).toBe(true);
  append(files, 4, 500);
  expect(await log.has(place)).toBe(false);
  expect(await log.has("0")).toBe(false);
  const left = await numbers(log, place);
  expect(left).toEqual(range(left[0] ?? 0, 500));
  expect(left[0]).toBeGreaterThan(400);
  await log.close();
  files.close();
});

test("a reader that slept while all of its files were removed goes on with those there are", async () => {
  const files = new FileLines(limits);
  append(files, 1, 1);
  const log = open();
  append(files, 2, 500);
  expect((await numbers(log)).at(-1)).toBe(500);
  await log.close();
  files.close();
});

test("after a restart of the node the log goes on where it was, and its places are good still", async () => {
  const before = new FileLines(limits);
  append(before, 1, 15);
  const first = open();
  const place = await first.end();
  await first.close();
  before.close();
  const after = new FileLines(limits);
  append(after, 16, 25);
  const log = open();
  expect(await numbers(log, place)).toEqual(range(16, 25));
  await log.close();
  after.close();
});

test("what was open when the Pod went is readable to its end", async () => {
  const files = new FileLines(limits);
  append(files, 1, 25);
  const log = open();
  rmSync(directory, { recursive: true });
  expect(existsSync(path)).toBe(false);
  expect(await numbers(log)).toEqual(range(1, 25));
  await log.close();
  files.close();
});
