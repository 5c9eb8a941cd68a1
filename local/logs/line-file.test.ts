import { mkdtempSync, rmSync, unlinkSync } from "node:fs";
import { appendFile, truncate } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, expect, test } from "vitest";
import { encodeRecord, linePrefix } from "#api/log-record.ts";
import { timestamp } from "#api/time.ts";
import { FileLog } from "./line-file.ts";
import { systemLogFiles } from "./log-file.ts";

let directory: string;
let path: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "krt-log-"));
  path = join(directory, "runtimed.log");
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

const open = () => new FileLog({ path, files: systemLogFiles, onGrowth: () => () => {} });
const prefix = Buffer.from(linePrefix("mine"));
const record = (run: string, seq: number, message: string, ms = 0) =>
  encodeRecord({ run, attempt: 1, seq, time: timestamp(ms), stream: "stdout", message });

async function forwards(log: FileLog, from?: string): Promise<string[]> {
  const lines: string[] = [];
  for await (const batch of log.forwards(prefix, from)) lines.push(...batch.lines.map(({ text }) => text));
  return lines;
}

async function backwards(log: FileLog, sinceMs = Number.NEGATIVE_INFINITY): Promise<string[]> {
  const lines: string[] = [];
  for await (const batch of log.backwards(prefix, await log.end(), sinceMs)) {
    lines.unshift(...batch.map(({ text }) => text));
  }
  return lines;
}

test("forwards, backwards, and on from every position, the lines of one Run are the same; others are skipped", async () => {
  // Long lines of others make every border of the windows fall within one.
  const line = fc.tuple(
    fc.constantFrom("mine", "other", "junk"),
    fc.oneof(fc.integer({ min: 0, max: 200 }), fc.integer({ min: 10_000, max: 15_000 }), fc.constant(150_000)),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(line, { maxLength: 60 }), fc.boolean(), async (lines, isCut) => {
      const texts = lines.map(([run, size], n) =>
        run === "junk" ? `${"j".repeat(size)}\n` : record(run, n + 1, "x".repeat(Math.min(size, 15_000))),
      );
      const mine = texts.filter((text) => text.startsWith(prefix.toString())).map((text) => text.trimEnd());
      await truncate(path, 0).catch(() => {});
      await appendFile(path, texts.join("") + (isCut ? record("mine", 999, "not whole").slice(0, 50) : ""));
      const log = open();
      expect(await forwards(log)).toEqual(mine);
      expect(await backwards(log)).toEqual(mine);
      const ends: string[] = [];
      for await (const batch of log.forwards(prefix, undefined)) ends.push(...batch.lines.map(({ end }) => end));
      for (const [n, end] of ends.entries()) {
        if (n % 7 === 0) expect(await forwards(log, end)).toEqual(mine.slice(n + 1));
      }
      expect(await log.has(await log.end())).toBe(true);
      await log.close();
    }),
    { numRuns: 40 },
  );
});

test("a line that is being written is read when it is whole", async () => {
  const whole = record("mine", 1, "split");
  await appendFile(path, whole.slice(0, 20));
  const log = open();
  expect(await forwards(log)).toEqual([]);
  expect(await log.end()).toBe("0");
  await appendFile(path, whole.slice(20));
  expect(await forwards(log)).toEqual([whole.trimEnd()]);
  await log.close();
});

test("a log that does not exist yet is empty, and is found when it does", async () => {
  const log = open();
  expect(await forwards(log)).toEqual([]);
  expect(await log.end()).toBe("0");
  await appendFile(path, record("mine", 1, "first"));
  expect(await forwards(log)).toHaveLength(1);
  await log.close();
});

test("an open log outlives its file", async () => {
  await appendFile(path, record("mine", 1, "last words"));
  const log = open();
  unlinkSync(path);
  expect(await forwards(log)).toHaveLength(1);
  await log.close();
});

test("the search backwards ends where the records are older than the Run", async () => {
  for (let n = 1; n <= 400; n++) await appendFile(path, record("mine", n, "x".repeat(1000), n * 1000));
  const log = open();
  const found = await backwards(log, 350_000);
  expect(found.length).toBeGreaterThanOrEqual(51);
  expect(found.length).toBeLessThan(200);
  await log.close();
});

const positions: Record<string, { position: string; want: boolean }> = {
  "the beginning": { position: "0", want: true },
  "beyond the end": { position: "999999", want: false },
  "within a line": { position: "10", want: false },
  "no number": { position: "x", want: false },
  "a negative number": { position: "-1", want: false },
};

test.each(Object.entries(positions))("a position at %s", async (_, { position, want }) => {
  await appendFile(path, record("mine", 1, "first") + record("mine", 2, "second"));
  const log = open();
  expect(await log.has(position)).toBe(want);
  if (!want) await expect(forwards(log, position)).rejects.toMatchObject({ name: "PositionLostError" });
  await log.close();
});

test("a log that is closed while it is read reads nothing more", async () => {
  await appendFile(path, record("mine", 1, "x".repeat(1000)).repeat(300));
  const log = open();
  const failed = expect(backwards(log)).rejects.toThrow("closed");
  await log.close();
  await failed;
});

test("a read under way when its file is closed gets the bytes of that file, not of one that is opened next", async () => {
  await appendFile(path, Buffer.alloc(4_000_000, "a"));
  const other = join(directory, "other.log");
  await appendFile(other, Buffer.alloc(4_000_000, "b"));
  for (let n = 0; n < 20; n++) {
    const file = systemLogFiles.open(path);
    const reading = file?.read(0, 4_000_000);
    file?.close();
    const next = systemLogFiles.open(other);
    expect((await reading)?.every((byte) => byte === 0x61)).toBe(true);
    next?.close();
  }
});
