import { EventEmitter } from "node:events";
import { expect, test } from "vitest";
import { VirtualClock } from "#kube/virtual-clock.ts";
import { sendStream } from "./send-stream.ts";

/** A connection with room for so many writes. */
class Connection extends EventEmitter {
  destroyed = false;
  ended = false;
  text = "";
  room: number;

  constructor(room: number) {
    super();
    this.room = room;
  }

  write(bytes: Uint8Array): boolean {
    this.text += Buffer.from(bytes).toString();
    return --this.room > 0;
  }

  end(): void {
    this.ended = true;
  }

  destroy(): void {
    this.destroyed = true;
    this.emit("close");
  }
}

const item = (n: number): string => JSON.stringify({ seq: n });

/** Counts how far it was read. */
function batches(count: number) {
  const source = { read: 0 };
  async function* all() {
    for (let n = 1; n <= count; n++) {
      source.read = n;
      yield [item(2 * n - 1), item(2 * n)];
    }
  }
  return { source, all: all() };
}

test("records go out one a line, and the stream ends with them", async () => {
  const connection = new Connection(100);
  const counted: number[] = [];
  await sendStream(batches(2).all, connection, new VirtualClock(), (records) => counted.push(records));
  const lines = connection.text.trimEnd().split("\n");
  expect(lines.map((line) => JSON.parse(line).seq)).toEqual([1, 2, 3, 4]);
  expect({ ended: connection.ended, counted }).toEqual({ ended: true, counted: [2, 2] });
});

test("a reader who takes nothing holds up what is read for it, and is cut off after a minute", async () => {
  const clock = new VirtualClock();
  const connection = new Connection(2);
  const { source, all } = batches(1000);
  const sent = sendStream(all, connection, clock, () => {});
  await clock.elapse(59_000);
  expect(source.read).toBe(2);
  connection.room = 2;
  connection.emit("drain");
  await clock.elapse(59_000);
  expect({ read: source.read, destroyed: connection.destroyed }).toEqual({ read: 4, destroyed: false });
  await clock.elapse(2000);
  await sent;
  expect({ destroyed: connection.destroyed, ended: connection.ended }).toEqual({ destroyed: true, ended: false });
  expect([connection.listenerCount("drain"), connection.listenerCount("close"), clock.pending]).toEqual([0, 0, 0]);
});

test("a reader who goes away ends the stream at once", async () => {
  const clock = new VirtualClock();
  const connection = new Connection(1);
  const { source, all } = batches(10);
  const sent = sendStream(all, connection, clock, () => {});
  await clock.elapse(1);
  connection.destroy();
  await sent;
  expect({ read: source.read, pending: clock.pending }).toEqual({ read: 1, pending: 0 });
});
