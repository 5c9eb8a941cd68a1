/** Records that share a line of their agent are read one by one, and from each of them on. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { encodeRecords } from "#api/log-lines.ts";
import { encodeMessage, type LogRecord } from "#api/log-record.ts";
import { timestamp } from "#api/time.ts";
import { LogWorld, worldKinds } from "#test/support/log-world.ts";
import type { LogItem } from "./items.ts";

type Stream = "stdout" | "stderr";

/** An agent that prints lines of one Run as they come, each time those that came together. */
class Printer {
  readonly printed: string[] = [];
  readonly #world: LogWorld;
  #seq = 0;
  readonly #ends = { stdout: 0, stderr: 0 };

  constructor(world: LogWorld) {
    this.#world = world;
  }

  /** Prints lines together, from that one on. */
  print(count: number, stream: Stream = "stdout", from = this.printed.length): string {
    const time = timestamp(this.#world.clock.now());
    const records = Array.from({ length: count }, (_, index): LogRecord => {
      const text = `line ${from + index + 1} "of" a\\run`;
      this.printed.push(text);
      this.#ends[stream] += text.length + 1;
      const seq = ++this.#seq;
      const end = this.#ends[stream];
      return { run: "run-a", attempt: 1, seq, time, stream, ...encodeMessage(Buffer.from(text)), end };
    });
    const lines = encodeRecords(records);
    this.#world.pod("p1").print(lines);
    return lines;
  }
}

const messages = (items: readonly LogItem[]) => items.map(({ message }) => message);

describe.each(worldKinds)("with logs in a %s", (kind) => {
  test("from the cursor of each record the rest follows, once, as a stream and as snapshots", async () => {
    const step = fc.record({
      count: fc.integer({ min: 1, max: 6 }),
      stream: fc.constantFrom<Stream>("stdout", "stdout", "stderr"),
      foreign: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { minLength: 1, maxLength: 6 }),
        fc.integer({ min: 1, max: 12 }),
        async (steps, tail) => {
          const world = new LogWorld(kind);
          world.run("a", world.on("p1"));
          const printer = new Printer(world);
          for (const { count, stream, foreign } of steps) {
            printer.print(count, stream);
            if (foreign) world.pod("p1").print(world.line("other", 1, "not yours"));
          }
          world.pod("p1").print(world.line("a", printer.printed.length + 1, "", { stream: "system", last: true }));
          world.run("a", world.on("p1", { phase: "Succeeded" }));
          const { printed } = printer;

          const all = await (await world.follow("a", { cursor: "start" })).rest();
          expect(messages(all)).toEqual(printed);
          const newest = await (await world.follow("a", { tailLines: String(tail) })).rest();
          expect(messages(newest)).toEqual(printed.slice(-tail));
          for (const { cursor, message } of [...all, ...newest]) {
            const at = printed.indexOf(message) + 1;
            const query = { cursor: cursor ?? "" };
            expect(messages(await (await world.follow("a", query)).rest())).toEqual(printed.slice(at));
            expect(messages((await world.snapshot("a", query)).items)).toEqual(printed.slice(at));
          }
        },
      ),
      { numRuns: kind === "file" ? 60 : 25 },
    );
  }, 60_000);

  test("the newest of them are the newest records, not the newest lines", async () => {
    const world = new LogWorld(kind);
    world.run("a", world.on("p1"));
    const printer = new Printer(world);
    printer.print(120);
    printer.print(30);
    const { items, cursor } = await world.snapshot("a", { tailLines: "50" });
    expect(messages(items)).toEqual(printer.printed.slice(-50));
    expect(items.map(({ seq }) => seq)).toEqual(Array.from({ length: 50 }, (_, index) => 101 + index));
    printer.print(3);
    expect(messages((await world.snapshot("a", { cursor })).items)).toEqual(printer.printed.slice(-3));
  });

  test("pages of a log in shared lines have all of it", async () => {
    const world = new LogWorld(kind);
    world.run("a", world.on("p1", { phase: "Succeeded" }));
    const printer = new Printer(world);
    for (let n = 0; n < 80; n++) printer.print(400);
    const got: string[] = [];
    let pages = 0;
    for (let cursor = "start"; ; pages++) {
      const page = await world.snapshot("a", { cursor });
      if (page.items.length === 0) break;
      got.push(...messages(page.items));
      cursor = page.cursor;
    }
    expect(pages).toBeGreaterThan(2);
    expect(got).toEqual(printer.printed);
  });
});
