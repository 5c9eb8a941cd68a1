import { expect, test } from "vitest";
import { VirtualClock } from "#kube/virtual-clock.ts";
import { EventLog } from "#runtime/executor/event-log.ts";
import { deliver, type Reader } from "#runtime/executor/watch.ts";

const clock = new VirtualClock();

const exit = { cause: "exited", exitCode: 0, outOfMemory: false, leftoverProcesses: 0, message: "" } as const;

function reader(stop = new AbortController()) {
  const seen: number[] = [];
  const messages: number[] = [];
  let gate = Promise.withResolvers<void>();
  let open = true;
  const port: Reader = {
    write(events) {
      messages.push(events.length);
      seen.push(...events.map((event) => event.seq));
      return open;
    },
    drained: () => gate.promise,
    gone: stop.signal,
  };
  return {
    port,
    seen,
    messages,
    stop,
    close() {
      open = false;
      gate = Promise.withResolvers();
    },
    drain() {
      open = true;
      gate.resolve();
    },
  };
}

test("events that are there travel together, later ones when they come, and the end ends it", async () => {
  const log = new EventLog(1e6, () => {});
  log.started(1);
  log.output(1, "stdout", new Uint8Array(3));
  const { port, seen, messages } = reader();
  const end = deliver(log, 0, port, () => true, clock);
  expect(messages).toEqual([2]);
  log.exited(2, exit);
  expect(await end).toBe("complete");
  expect(seen).toEqual([1, 2, 3]);
});

test("a reader that has enough gets nothing more until it has drained", async () => {
  const log = new EventLog(1e6, () => {});
  const slow = reader();
  slow.close();
  log.started(1);
  const end = deliver(log, 0, slow.port, () => true, clock);
  log.exited(2, exit);
  await Promise.resolve();
  expect(slow.seen).toEqual([1]);
  slow.drain();
  expect(await end).toBe("complete");
  expect(slow.seen).toEqual([1, 2]);
});

test("a reader that goes away while nothing happens is let go", async () => {
  const log = new EventLog(1e6, () => {});
  const { port, stop } = reader();
  const end = deliver(log, 0, port, () => true, clock);
  stop.abort();
  expect(await end).toBe("gone");
});

test("a reader of an execution that is forgotten is let go", async () => {
  const log = new EventLog(1e6, () => {});
  let known = true;
  const end = deliver(log, 0, reader().port, () => known, clock);
  known = false;
  log.wake();
  expect(await end).toBe("gone");
});

test("a second reader that acknowledges what the first has not been sent overtakes it", async () => {
  const log = new EventLog(1e6, () => {});
  const slow = reader();
  slow.close();
  log.started(1);
  const first = deliver(log, 0, slow.port, () => true, clock);
  log.output(1, "stdout", new Uint8Array(1));
  log.output(1, "stdout", new Uint8Array(1));
  log.exited(2, exit);
  expect(await deliver(log, 4, reader().port, () => true, clock)).toBe("complete");
  slow.drain();
  expect(await first).toBe("overtaken");
});

test("asking from a number acknowledges what is before it", async () => {
  const log = new EventLog(1e6, () => {});
  log.started(1);
  log.exited(2, exit);
  await deliver(log, 2, reader().port, () => true, clock);
  expect(log.firstSeq).toBe(2);
});

test("small pieces that follow each other closely travel together, after a short time or when there are plenty", async () => {
  const time = new VirtualClock();
  const log = new EventLog(1e6, () => {});
  const { port, seen, messages } = reader();
  log.started(1);
  const end = deliver(log, 0, port, () => true, time);
  let written = 0;
  const write = async (size: number) => {
    log.output(1, written++ % 2 === 0 ? "stdout" : "stderr", new Uint8Array(size)); // each an event
    await time.settle();
  };
  for (let piece = 0; piece < 3; piece++) await write(10);
  expect(messages).toEqual([1]);
  await time.elapse(5);
  expect(messages).toEqual([1, 3]);
  await write(10);
  await write(70_000);
  expect(messages).toEqual([1, 3, 2]);
  await time.elapse(1000);
  await write(10); // long after the last message nothing is held back
  expect(messages).toEqual([1, 3, 2, 1]);
  await write(10);
  log.exited(2, exit);
  expect(await end).toBe("complete");
  expect(messages).toEqual([1, 3, 2, 1, 2]);
  expect(seen).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
  expect(time.pending).toBe(0);
});
