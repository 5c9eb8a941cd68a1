/** Checks of Watch and Acknowledge: nothing is lost, nothing waits for nobody. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { sleep } from "#kube/ports.ts";
import { systemClock } from "#kube/system-clock.ts";
import { type ExecutionEvent, ExecutionNotFoundError } from "#runtime/executor-client.ts";
import type { Check } from "#runtime/proto/conformance.ts";
import { eventsOf, exitOf, find, outputOf, until } from "#runtime/proto/conformance-tools.ts";

const mebibyte = 1024 * 1024;

/** Bytes without a line end, with every value in them, so that no part may be taken for text or for another part. */
function noise(size: number): Buffer {
  const bytes = Buffer.alloc(size);
  let state = 1;
  for (let at = 0; at < size; at++) {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    bytes[at] = (state >>> 16) & 0xff;
    if (bytes[at] === 0x0a) bytes[at] = 0x0b;
  }
  return bytes;
}

function digest(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

export const watchChecks: readonly Check[] = [
  {
    name: "Watch of an unknown execution is NOT_FOUND, also after Forget",
    async run({ client, request }) {
      const execution = await request({ durationMs: 0 });
      await assert.rejects(eventsOf(client, execution), ExecutionNotFoundError);
      await client.execute(execution);
      await eventsOf(client, execution);
      await client.forget(execution);
      await assert.rejects(eventsOf(client, execution), ExecutionNotFoundError);
    },
  },
  {
    name: "Watch after the end gives all that happened",
    async run({ client, request }) {
      const execution = await request({
        durationMs: 0,
        output: [{ data: "out" }, { stream: "stderr", data: "err" }],
      });
      await client.execute(execution);
      await until("it is over", async () => (await find(client, execution))?.exit !== undefined);
      const events = await eventsOf(client, execution);
      assert.equal(events[0]?.kind, "started");
      assert.equal(outputOf(events).toString(), "out");
      assert.equal(outputOf(events, "stderr").toString(), "err");
    },
  },
  {
    name: "events come while the program runs",
    async run({ client, request }) {
      const execution = await request({ durationMs: 60_000, output: [{ data: "early" }] });
      await client.execute(execution);
      const stop = new AbortController();
      const seen: ExecutionEvent[] = [];
      await client.watch(
        execution,
        0,
        (event) => {
          seen.push(event);
          if (event.kind === "output") stop.abort();
        },
        stop.signal,
      );
      assert.deepEqual(
        seen.map((event) => event.kind),
        ["started", "output"],
      );
      await client.cancel(execution, 0);
    },
  },
  {
    name: "a watch goes on from a sequence number without gap or repetition",
    async run({ client, request }) {
      const execution = await request({
        durationMs: 90,
        output: [{ data: "one" }, { atMs: 30, stream: "stderr", data: "two" }, { atMs: 60, data: "three" }],
      });
      await client.execute(execution);
      const all: ExecutionEvent[] = [];
      for (let seq = 1; all.at(-1)?.kind !== "exited"; seq++) {
        const stop = new AbortController();
        await client.watch(
          execution,
          seq,
          (event) => {
            all.push(event);
            stop.abort(); // one event for each watch
          },
          stop.signal,
        );
      }
      assert.deepEqual(
        all.map((event) => event.seq),
        all.map((_, index) => index + 1),
      );
      assert.equal(outputOf(all).toString(), "onethree");
      assert.equal(outputOf(all, "stderr").toString(), "two");
    },
  },
  {
    name: "each output says how many bytes of its stream came before it, also after a watch that went on later",
    async run({ client, request }) {
      const execution = await request({
        durationMs: 90,
        output: [{ data: "one" }, { atMs: 30, stream: "stderr", data: "four" }, { atMs: 60, data: "two" }],
      });
      await client.execute(execution);
      const offsets: string[] = [];
      let seq = 0;
      for (let over = false; !over; ) {
        const stop = new AbortController();
        await client.watch(
          execution,
          seq + 1,
          (event) => {
            seq = event.seq;
            if (event.kind === "output") offsets.push(`${event.stream} ${event.offset}`);
            over = event.kind === "exited";
            stop.abort(); // one event for each watch
          },
          stop.signal,
        );
      }
      assert.deepEqual(offsets, ["stdout 0", "stderr 0", "stdout 3"]);
    },
  },
  {
    name: "output of both streams that is apart in time comes in the order of writing",
    async run({ client, request }) {
      const words = ["a", "b", "c", "d", "e", "f"];
      const output = words.map((word, index) => ({
        atMs: index * 25,
        stream: index % 2 === 0 ? ("stdout" as const) : ("stderr" as const),
        data: word,
      }));
      const execution = await request({ durationMs: 150, output });
      await client.execute(execution);
      const events = await eventsOf(client, execution);
      const order = events.flatMap((event) => (event.kind === "output" ? [Buffer.from(event.bytes).toString()] : []));
      assert.equal(order.join(""), words.join(""));
    },
  },
  {
    name: "2 MiB of arbitrary bytes without a line end arrive as they were written",
    async run({ client, request }) {
      const data = noise(2 * mebibyte);
      const execution = await request({ durationMs: 0, output: [{ data }] });
      await client.execute(execution);
      const events = await eventsOf(client, execution);
      assert.equal(digest(outputOf(events)), digest(data));
      assert.equal(exitOf(events).exitCode, 0);
      assert.ok(events.every((event) => event.kind !== "output" || event.bytes.byteLength <= 64 * 1024));
    },
  },
  {
    name: "output that nobody takes pauses the program; a slow reader then gets all of it",
    async run({ client, request }) {
      const data = noise(2 * mebibyte);
      const execution = await request({ durationMs: 0, output: [{ data }, { stream: "stderr", data: "end" }] });
      await client.execute(execution);
      let last = -1;
      await until("the program stands still", async () => {
        const before = last;
        last = (await find(client, execution))?.lastSeq ?? 0;
        await sleep(systemClock, 30);
        return last === before && last > 1;
      });
      assert.equal((await find(client, execution))?.exit, undefined, "it must not have written 2 MiB into the void");
      const hash = createHash("sha256");
      let exited = false;
      await client.watch(execution, 0, async (event) => {
        if (event.kind === "output" && event.stream === "stdout") hash.update(event.bytes);
        if (event.seq % 8 === 0) await sleep(systemClock, 1);
        exited = event.kind === "exited";
      });
      assert.equal(exited, true);
      assert.equal(hash.digest("hex"), digest(data));
    },
  },
  {
    name: "a reader that dies and comes back misses nothing, even if it does not know where it was",
    async run({ client, request }) {
      const data = noise(mebibyte);
      const execution = await request({ durationMs: 0, output: [{ data }] });
      await client.execute(execution);
      const bySeq = new Map<number, Uint8Array>();
      const keep = (event: ExecutionEvent) => {
        if (event.kind === "output") bySeq.set(event.seq, event.bytes);
      };
      const stop = new AbortController();
      await client.watch(
        execution,
        0,
        (event) => {
          keep(event);
          if (bySeq.size === 5) stop.abort();
        },
        stop.signal,
      );
      await client.watch(execution, 0, keep);
      const parts = [...bySeq.entries()].sort(([a], [b]) => a - b).map(([, bytes]) => bytes);
      assert.equal(digest(Buffer.concat(parts)), digest(data));
    },
  },
  {
    name: "an error of the reader ends its watch and harms nothing else",
    async run({ client, request }) {
      const execution = await request({ durationMs: 0, output: [{ data: "x" }] });
      await client.execute(execution);
      const broken = client.watch(execution, 0, () => {
        throw new RangeError("of the reader");
      });
      await assert.rejects(broken, RangeError);
      assert.equal(exitOf(await eventsOf(client, execution)).exitCode, 0);
    },
  },
  {
    name: "a watch that is aborted before or while nothing happens ends without an error",
    async run({ client, request }) {
      const execution = await request({ durationMs: 60_000 });
      await client.execute(execution);
      await client.watch(execution, 0, () => {}, AbortSignal.abort());
      const stop = new AbortController();
      await client.watch(execution, 0, () => void systemClock.after(20, () => stop.abort()), stop.signal);
      await client.cancel(execution, 0);
    },
  },
];
