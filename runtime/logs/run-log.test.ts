import { Writable } from "node:stream";
import { expect, test } from "vitest";
import { type LogRecord, recordBytes } from "#api/log-record.ts";
import { recordsOf } from "#api/record-line.ts";
import { VirtualClock } from "#kube/virtual-clock.ts";
import { defaultLogLimits, type LogLimits } from "#runtime/logs/limits.ts";
import { secretPatterns } from "#runtime/logs/masker.ts";
import { MemorySink } from "#runtime/logs/memory-sink.ts";
import { RunLog } from "#runtime/logs/run-log.ts";
import type { LogSink } from "#runtime/logs/sink.ts";
import { createStreamSink } from "#runtime/logs/stream-sink.ts";
import { Tail } from "#runtime/logs/tail.ts";

const runUid = "6a1f5a0e-5c1d-4f7e-9b9a-0d7d1b8a4c11";

function setup(options: { secrets?: string[]; limits?: LogLimits; sink?: LogSink } = {}) {
  const sink = new MemorySink();
  const clock = new VirtualClock();
  const log = new RunLog({
    runUid,
    attempt: 2,
    sink: options.sink ?? sink,
    clock,
    limits: options.limits ?? defaultLogLimits,
    secrets: secretPatterns(options.secrets ?? []),
  });
  return {
    sink,
    clock,
    log,
    lines: () => sink.records.map(({ stream, message, last }) => (last ? "end" : `${stream}: ${message}`)),
  };
}

const bytes = (text: string) => Buffer.from(text);
const outputOf = (records: readonly LogRecord[], stream: string) =>
  Buffer.concat(records.filter((record) => record.stream === stream).map(recordBytes));

test("records come in the order of arrival over both streams, numbered without gaps, and a mark behind the last", async () => {
  const { log, sink, lines } = setup();
  await log.write("stdout", bytes("one\n"));
  await log.write("stderr", bytes("two\nthr"));
  await log.write("stdout", bytes("four\n"));
  await log.system("a word of the platform");
  await log.write("stderr", bytes("ee\n"));
  await log.end();
  expect(lines()).toEqual([
    "stdout: one",
    "stderr: two",
    "stdout: four",
    "system: a word of the platform",
    "stderr: three",
    "end",
  ]);
  expect(sink.records.map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5, 6]);
  expect(sink.records.every(({ run, attempt }) => run === runUid && attempt === 2)).toBe(true);
});

test("a record carries the time at which the output was written", async () => {
  const { log, sink } = setup();
  await log.write("stdout", bytes("x\n"), 1_700_000_000_000.25);
  expect(sink.records[0]?.time).toBe("2023-11-14T22:13:20.000250Z");
});

test("a prompt without newline shows after a second", async () => {
  const { log, sink, clock } = setup();
  await log.write("stdout", bytes("Name: "));
  expect(sink.records).toEqual([]);
  await clock.elapse(1000);
  expect(sink.records).toMatchObject([{ message: "Name: ", partial: true }]);
  await log.write("stdout", bytes("Ada\n"));
  await log.end();
  expect(outputOf(sink.records, "stdout").toString()).toBe("Name: Ada\n");
  expect(clock.pending).toBe(0);
});

test("after the end no timer is left, even when a line was open", async () => {
  const { log, sink, clock } = setup();
  await log.write("stdout", bytes("no newline"));
  await log.end();
  expect(sink.records).toMatchObject([{ message: "no newline", partial: true }, { last: true }]);
  expect(clock.pending).toBe(0);
});

test("a secret is masked in records and in the tail, also when a flush comes in between", async () => {
  const { log, sink, clock } = setup({ secrets: ["hunter2"] });
  await log.write("stderr", bytes("password hun"));
  await clock.elapse(5000);
  await log.write("stderr", bytes("ter2!"));
  await log.end();
  expect(outputOf(sink.records, "stderr").toString()).toBe("password ***!");
  expect(log.stderrTail()).toBe("password ***!");
});

test("what was held back as a possible secret comes out at the end", async () => {
  const { log, sink } = setup({ secrets: ["hunter2"] });
  await log.write("stdout", bytes("hunt"));
  await log.end();
  expect(sink.records).toMatchObject([{ message: "hunt", partial: true }, { last: true }]);
});

test("the size cap ends the log with one system record", async () => {
  const { log, lines } = setup({ limits: { totalBytes: 12, bytesPerSecond: 1000, burstBytes: 1000 } });
  await log.write("stdout", bytes("12345\n12345\nmore\nmore\n"));
  await log.end();
  expect(lines()).toEqual([
    "stdout: 12345",
    "stdout: 12345",
    "system: the log of this attempt has reached its limit of 12 bytes; further output is not recorded",
    "end",
  ]);
});

test("a flood of empty lines costs, too", async () => {
  const { log, sink } = setup({ limits: { totalBytes: 100, bytesPerSecond: 1e6, burstBytes: 1e6 } });
  await log.write("stdout", bytes("\n".repeat(1000)));
  expect(sink.records).toHaveLength(101);
});

test("drops of a program that ends are told", async () => {
  const { log, lines } = setup({ limits: { totalBytes: 1e6, bytesPerSecond: 1, burstBytes: 10 } });
  await log.write("stdout", bytes("12345678\nsecond\nthird\n"));
  await log.end();
  expect(lines()).toEqual([
    "stdout: 12345678",
    "system: 2 records (13 bytes) were dropped: the output was faster than 1 bytes a second",
    "end",
  ]);
});

test("a message of the platform with several lines becomes several records", async () => {
  const { log, lines } = setup();
  await log.system("first\nsecond");
  expect(lines()).toEqual(["system: first", "system: second"]);
});

test("a sink without room makes the writer wait, and nothing is lost", async () => {
  const received: string[] = [];
  const waiting: (() => void)[] = [];
  const slow = new Writable({
    highWaterMark: 100,
    decodeStrings: false,
    write(chunk: string, _, done) {
      received.push(chunk);
      waiting.push(done);
    },
  });
  const { log } = setup({ sink: createStreamSink(slow) });
  let written = false;
  const write = log.write("stdout", bytes("x".repeat(50_000))).then(() => {
    written = true;
  });
  await new Promise(setImmediate);
  expect(written).toBe(false);
  while (waiting.length > 0) {
    waiting.shift()?.();
    await new Promise(setImmediate);
  }
  await write;
  const end = log.end();
  await new Promise(setImmediate);
  while (waiting.length > 0) {
    waiting.shift()?.();
    await new Promise(setImmediate);
  }
  await end;
  const records = received
    .join("")
    .trimEnd()
    .split("\n")
    .map((line) => recordsOf(line));
  expect(records.every((line) => line.length > 0)).toBe(true);
  expect(outputOf(records.flat(), "stdout").toString()).toBe("x".repeat(50_000));
});

test("many writers wait on one stream without one listener each", async () => {
  const waiting: (() => void)[] = [];
  const slow = new Writable({ highWaterMark: 1, write: (_chunk, _encoding, done) => void waiting.push(done) });
  const sink = createStreamSink(slow);
  const record: LogRecord = { run: runUid, attempt: 1, seq: 1, time: "t", stream: "stdout", message: "x" };
  const writes = Array.from({ length: 50 }, () => sink.write([record]));
  expect(slow.listenerCount("drain")).toBe(1);
  while (waiting.length > 0) {
    waiting.shift()?.();
    await new Promise(setImmediate);
  }
  await Promise.all(writes);
});

test("a sink that is gone is an error for those who wait and for those who come", async () => {
  const stuck = new Writable({ highWaterMark: 1, write: () => {} });
  const sink = createStreamSink(stuck);
  const record: LogRecord = { run: runUid, attempt: 1, seq: 1, time: "t", stream: "stdout", message: "x" };
  const write = sink.write([record]);
  stuck.destroy(new Error("EPIPE"));
  await expect(write).rejects.toThrow("EPIPE");
  await expect(sink.write([record])).rejects.toThrow("EPIPE");
});

const tails: Record<string, { chunks: string[]; want: string }> = {
  "short output is quoted whole": { chunks: ["no ", "file\n"], want: "no file" },
  "of long output the end is quoted": { chunks: ["x".repeat(50), "the end"], want: "xxxthe end" },
  "a cut does not go through a character": { chunks: ["€€€€"], want: "€€€" },
  "a large chunk is cut at once": { chunks: ["y".repeat(1e6), "z"], want: "yyyyyyyyyz" },
  "of lines that are cut the whole ones are quoted": { chunks: ["first line\n", "two\n", "three"], want: "two\nthree" },
  "half a line is quoted when there is no other": { chunks: ["x".repeat(50), "\n\n"], want: "xxxxxxxx" },
  "no output, no text": { chunks: [], want: "" },
};

test.each(Object.entries(tails))("tail: %s", (_, { chunks, want }) => {
  const tail = new Tail(10);
  for (const chunk of chunks) tail.push(bytes(chunk));
  expect(tail.text()).toBe(want);
});

test("a tail of bytes that are not UTF-8 stays within its size", () => {
  const tail = new Tail(100);
  tail.push(Buffer.alloc(300, 0xff));
  expect(Buffer.byteLength(tail.text())).toBeLessThanOrEqual(100);
  expect(tail.text()).toMatch(/^\uFFFD+$/);
});

test("output counts as written, and a log as ended, when everything has left the process, not before", async () => {
  const pending: (() => void)[] = [];
  const pipe = new Writable({ highWaterMark: 1_000_000, write: (_, __, done) => void pending.push(done) });
  const { log } = setup({ sink: createStreamSink(pipe) });
  for (const work of [() => log.write("stdout", bytes("words\nlast words")), () => log.end()]) {
    let isOver = false;
    const working = work().then(() => {
      isOver = true;
    });
    for (let n = 0; n < 20; n++) await Promise.resolve();
    expect(isOver).toBe(false);
    while (!isOver) {
      pending.shift()?.();
      await new Promise((resolve) => setImmediate(resolve));
    }
    await working;
  }
});

test("a sink that breaks while a log waits for its end says so", async () => {
  const pipe = new Writable({ highWaterMark: 1_000_000, write: () => {} });
  const { log } = setup({ sink: createStreamSink(pipe) });
  await log.write("stdout", bytes("last words"));
  const end = log.end();
  end.catch(() => {});
  await new Promise((resolve) => setImmediate(resolve));
  pipe.destroy(new Error("pipe is gone"));
  await expect(end).rejects.toThrow("pipe is gone");
});
