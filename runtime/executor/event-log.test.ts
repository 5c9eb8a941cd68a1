import { expect, test } from "vitest";
import { EventLog } from "#runtime/executor/event-log.ts";

const exit = { cause: "exited", exitCode: 0, outOfMemory: false, leftoverProcesses: 0, message: "" } as const;
const bytes = (size: number) => new Uint8Array(size);

function filled(limit = 10_000, onRoom = () => {}): EventLog {
  const log = new EventLog(limit, onRoom);
  log.started(1);
  log.output(2, "stdout", bytes(1000));
  log.output(3, "stderr", bytes(2000));
  log.exited(4, exit);
  return log;
}

const seqs = (events: readonly { seq: number }[]) => events.map((event) => event.seq);

test("events are numbered from 1 and read from any number on", () => {
  const log = filled();
  expect(seqs(log.read(0, 1e9))).toEqual([1, 2, 3, 4]);
  expect(seqs(log.read(3, 1e9))).toEqual([3, 4]);
  expect(seqs(log.read(5, 1e9))).toEqual([]);
  expect([log.firstSeq, log.lastSeq, log.ended]).toEqual([1, 4, true]);
});

test("a read is bounded in bytes, but gives at least one event", () => {
  const log = filled();
  expect(seqs(log.read(1, 1))).toEqual([1]);
  expect(seqs(log.read(2, 1))).toEqual([2]);
  expect(seqs(log.read(1, 200))).toEqual([1, 2]);
});

test("acknowledged events are dropped, numbers go on", () => {
  const log = filled();
  log.acknowledge(2);
  expect(seqs(log.read(0, 1e9))).toEqual([3, 4]);
  log.acknowledge(1);
  log.acknowledge(1000);
  expect([log.firstSeq, log.lastSeq]).toEqual([5, 4]);
});

test("the log is full from its limit on, and tells once when there is room again", () => {
  let rooms = 0;
  const log = new EventLog(3000, () => {
    rooms++;
  });
  log.output(1, "stdout", bytes(1400));
  expect(log.full).toBe(false);
  log.output(1, "stderr", bytes(1400));
  expect(log.full).toBe(true); // the overhead of two events counts
  log.output(1, "stdout", bytes(1));
  log.acknowledge(1);
  expect([log.full, rooms]).toEqual([false, 1]);
  log.acknowledge(3);
  expect(rooms).toBe(1);
});

test("a flood of empty-handed events fills the log too", () => {
  const log = new EventLog(1000, () => {});
  for (let count = 0; count < 8; count++) log.output(1, count % 2 === 0 ? "stdout" : "stderr", bytes(1));
  expect(log.full).toBe(true);
});

/** Bytes of output by event. */
const pieces = (log: EventLog) =>
  log.read(0, 1e9).map((event) => (event.kind === "output" ? Buffer.from(event.bytes).toString() : event.kind));

test("pieces that follow each other closely are one event, until somebody reads it", () => {
  const log = new EventLog(1e6, () => {});
  const print = (time: number, text: string, stream: "stdout" | "stderr" = "stdout") =>
    log.output(time, stream, Buffer.from(text));
  print(1, "a");
  print(2, "b");
  print(6, "c");
  expect([log.lastSeq, log.totalCost]).toEqual([1, 128 + 3]);
  expect(pieces(log)).toEqual(["abc"]);
  print(6, "d");
  print(7, "e", "stderr");
  print(7, "f");
  print(13, "g");
  expect(pieces(log)).toEqual(["abc", "d", "e", "f", "g"]);
  expect(
    log.read(0, 1e9).map((event) => (event.kind === "output" ? [event.seq, event.time, event.offset] : [])),
  ).toEqual([
    [1, 1, 0],
    [2, 6, 3],
    [3, 7, 0],
    [4, 7, 4],
    [5, 13, 5],
  ]);
  log.acknowledge(4);
  log.acknowledge(5);
  print(14, "h");
  expect(pieces(log)).toEqual(["h"]);
});

test("an event is never larger than the contract says, and what was read never changes", () => {
  const log = new EventLog(1e9, () => {});
  let written = Buffer.alloc(0);
  const given: { bytes: Uint8Array; was: Buffer }[] = [];
  for (let n = 0; n < 400; n++) {
    const piece = Buffer.alloc(1 + ((n * 997) % 3000), n);
    written = Buffer.concat([written, piece]);
    log.output(1, "stdout", piece);
    if (n % 50 !== 49) continue;
    for (const event of log.read(log.firstSeq, 100_000)) {
      if (event.kind === "output") given.push({ bytes: event.bytes, was: Buffer.from(event.bytes) });
    }
  }
  const events = log.read(0, 1e9).filter((event) => event.kind === "output");
  expect(Buffer.concat(events.map(({ bytes }) => bytes)).equals(written)).toBe(true);
  expect(Math.max(...events.map(({ bytes }) => bytes.byteLength))).toBeLessThanOrEqual(64 * 1024);
  for (const { bytes, was } of given) expect(was.equals(bytes)).toBe(true);
});

test("readers wake at the next event and when something else changed", async () => {
  const log = new EventLog(1000, () => {});
  const first = log.changed();
  log.started(1);
  await first;
  const second = log.changed();
  log.wake();
  await second;
});

test("nothing comes after the end", () => {
  expect(() => filled().output(5, "stdout", bytes(1))).toThrow("after the end");
});
