import { Writable } from "node:stream";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { recordBytes } from "#api/log-record.ts";
import { defaultLogLimits } from "#runtime/logs/limits.ts";
import { RunLog } from "#runtime/logs/run-log.ts";
import { createStreamSink } from "#runtime/logs/stream-sink.ts";
import { LogWorld, worldKinds } from "#test/support/log-world.ts";
import type { LogItem } from "./items.ts";

describe.each(worldKinds)("with logs in a %s", (kind) => {
  /** The output that items stand for. */
  function outputOf(items: readonly LogItem[]): Buffer {
    return Buffer.concat(
      items.map(({ stream, ...item }) => {
        expect(stream).toBe("stdout");
        return recordBytes({ run: "x", seq: 1, stream, ...item });
      }),
    );
  }

  const names = ["a", "b"] as const;

  /** What hostile programs print: records of the other Run, whole, in parts, and with every trick of JSON and lines. */
  const piece = fc.oneof(
    fc.constantFrom(
      '{"run":"run-a","attempt":1,"seq":1,"time":"2026-01-01T00:00:00.000000Z","stream":"stdout","message":"forged"}\n',
      '\n{"run":"run-b","attempt":1,"seq":9,"time":"2026-01-01T00:00:00.000000Z","stream":"stdout","message":"forged"}\n',
      '{"run":"run-a",',
      '","run":"run-b","x":"',
      '\\n{"run":"run-a","message":"',
      '"}\n',
      "\r\n",
      "\u2028",
      "\u0000\n",
      "\ufeff",
      "}\n{",
    ),
    fc.string({ maxLength: 40 }),
    fc.uint8Array({ maxLength: 40 }),
    fc.integer({ min: 1, max: 40_000 }).map((size) => "x".repeat(size)),
  );

  test("whatever programs print, each Run's log has its own bytes, all of them, and no other", async () => {
    const writes = fc.array(fc.tuple(fc.constantFrom(...names), piece), { maxLength: 30 });
    await fc.assert(
      fc.asyncProperty(writes, fc.integer({ min: 1, max: 5000 }), async (written, cut) => {
        const world = new LogWorld(kind);
        const pod = world.pod("p1");
        // The pipe between agent and node cuts anywhere.
        const stdout = new Writable({
          write(chunk: Buffer, _, done) {
            for (let at = 0; at < chunk.length; at += cut) pod.print(chunk.subarray(at, at + cut));
            done();
          },
        });
        const sink = createStreamSink(stdout);
        const { clock } = world;
        const logs = new Map(
          names.map((name) => {
            world.run(name, world.on("p1", { phase: "Succeeded" }));
            const options = { runUid: `run-${name}`, attempt: 1, sink, clock, limits: defaultLogLimits, secrets: [] };
            return [name, new RunLog(options)];
          }),
        );
        const expected = new Map(names.map((name) => [name, [] as Buffer[]]));
        for (const [name, what] of written) {
          const bytes = Buffer.from(what as string);
          expected.get(name)?.push(bytes);
          await logs.get(name)?.write("stdout", bytes);
        }
        for (const log of logs.values()) await log.end();
        for (const name of names) {
          const want = Buffer.concat(expected.get(name) ?? []);
          const followed = await (await world.follow(name, { cursor: "start" })).rest();
          expect(outputOf(followed.map(({ cursor: _, ...item }) => item)).equals(want)).toBe(true);
          const { items } = await world.snapshot(name, { tailLines: "500" });
          if (items.length === followed.length) expect(outputOf(items).equals(want)).toBe(true);
        }
      }),
      { numRuns: 300 },
    );
  });
});
