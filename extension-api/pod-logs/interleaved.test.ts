import { Writable } from "node:stream";
import fc from "fast-check";
import { expect, test } from "vitest";
import { recordBytes } from "#api/log-record.ts";
import { defaultLogLimits } from "#runtime/logs/limits.ts";
import { RunLog } from "#runtime/logs/run-log.ts";
import { createStreamSink } from "#runtime/logs/stream-sink.ts";
import { type Followed, LogWorld } from "#test/support/log-world.ts";
import type { LogItem } from "../logs/items.ts";

const forged =
  '{"run":"run-a","attempt":1,"seq":1,"time":"2026-01-01T00:00:00.000000Z","stream":"stdout","message":"forged","last":true}\n';

/** What happens in and around a Pod while its Runs are read. */
const happening = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom("own", "own", "foreign", "noise") },
  { weight: 2, arbitrary: fc.constantFrom("cut", "leave", "snapshot") },
  { weight: 1, arbitrary: fc.constantFrom("restart") },
);

test("over interleaved logs, broken streams and an agent that restarts, no record is missing, doubled or of another Run", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(happening, { minLength: 1, maxLength: 40 }), fc.nat(3), async (steps, cut) => {
      const world = new LogWorld("pods/log");
      world.run("a", world.on("p1"));
      const { stored } = world.pod("p1");
      stored.pieceBytes = [64, 500, 4096, 65_536][cut] ?? 4096;
      const printed: string[] = [];
      const got: string[] = [];
      let cursor = "start";
      let restarts = 0;
      let followed: Followed = await world.follow("a", { cursor });
      // As the client library does it: a stream that could not go on is opened again after what came.
      const next = async () => {
        for (let item = await followed.next(); item !== undefined; item = await followed.next()) {
          cursor = item.cursor ?? cursor;
          if (item.status === undefined) return item;
          expect(item.status.code).toBe(503);
          followed = await world.follow("a", { cursor });
        }
        return undefined;
      };
      const take = async (upTo: number) => {
        while (got.length < upTo) {
          const item = await next();
          if (item === undefined) throw new Error("the stream ended early");
          got.push(item.message);
        }
      };
      for (const [n, what] of steps.entries()) {
        if (what === "own") {
          printed.push(`line ${printed.length + 1}`);
          world.pod("p1").print(world.line("a", printed.length, `line ${printed.length}`));
        } else if (what === "foreign") {
          // Programs of other Runs print what looks like records of this one; their agent wraps it.
          world.pod("p1").print(world.line("other", n + 1, forged));
        } else if (what === "noise") {
          world.pod("p1").print(`{"level":"info","message":"words of the agent itself"}\n${forged.slice(1)}`);
        } else if (what === "cut") {
          stored.cut();
        } else if (what === "leave") {
          await take(Math.floor((got.length + printed.length) / 2));
          await followed.leave();
          followed = await world.follow("a", { cursor });
        } else if (what === "snapshot") {
          const { items } = await world.snapshot("a", { tailLines: "7" });
          expect(items.map(({ message }) => message)).toEqual(printed.slice(-7));
        } else if (restarts++ === 0) {
          // The node keeps one life before the present one.
          stored.restart();
        }
      }
      world.pod("p1").print(world.line("a", printed.length + 1, "", { stream: "system", last: true }));
      world.run("a", world.on("p1", { phase: "Succeeded" }));
      for (let item = await next(); item !== undefined; item = await next()) got.push(item.message);
      expect(got).toEqual(printed);
    }),
    { numRuns: 150 },
  );
}, 60_000);

test("the newest records are found however many lines of others, restarts and moments of many lines are between", async () => {
  const stretch = fc.record({
    own: fc.integer({ min: 0, max: 12 }),
    foreign: fc.oneof(fc.integer({ min: 0, max: 30 }), fc.constantFrom(998, 999, 1000, 1001, 2500)),
    noise: fc.boolean(),
  });
  await fc.assert(
    fc.asyncProperty(
      fc.array(stretch, { minLength: 1, maxLength: 5 }),
      fc.option(fc.nat(4)),
      fc.integer({ min: 1, max: 40 }),
      async (stretches, restartAt, tailLines) => {
        const world = new LogWorld("pods/log");
        world.run("a", world.on("p1"));
        world.pod("p1").stored.pieceBytes = 65_536;
        const printed: string[] = [];
        for (const [n, { own, foreign, noise }] of stretches.entries()) {
          let text = "";
          for (let each = 0; each < own; each++) {
            printed.push(`line ${printed.length + 1}`);
            text += world.line("a", printed.length, `line ${printed.length}`);
          }
          for (let each = 0; each < foreign; each++) text += world.line("other", each + 1, "x");
          if (noise) text += `${"n".repeat(20_000)}\n`;
          world.pod("p1").print(text);
          if (n === restartAt) world.pod("p1").stored.restart();
        }
        const { items, cursor } = await world.snapshot("a", { tailLines: String(tailLines) });
        expect(items.map(({ message }) => message)).toEqual(printed.slice(-tailLines));
        world.pod("p1").print(world.line("a", printed.length + 1, "next"));
        expect((await world.snapshot("a", { cursor })).items.map(({ message }) => message)).toEqual(["next"]);
      },
    ),
    { numRuns: 30 },
  );
}, 60_000);

test("records are byte-exact and in order: carriage returns, no newline at the end, bytes that are no UTF-8, 2 MiB without a newline", async () => {
  const world = new LogWorld("pods/log");
  world.run("a", world.on("p1"));
  const pod = world.pod("p1");
  const sink = createStreamSink(
    new Writable({
      write(chunk: Buffer, _, done) {
        pod.print(chunk);
        done();
      },
    }),
  );
  const limits = { ...defaultLogLimits, bytesPerSecond: 1e9, burstBytes: 1e9 };
  const log = new RunLog({
    runUid: "run-a",
    attempt: 1,
    sink,
    clock: world.clock,
    limits,
    secrets: [Buffer.from("hunter2")],
  });
  const output = Buffer.concat([
    Buffer.from("progress 10%\rprogress 20%\r\n\n\n\ufeffbom\u2028\n"),
    Buffer.from([0xff, 0xfe, 0x00, 0x0a, 0xc3]),
    Buffer.alloc(2_097_152, "y"),
    Buffer.from(`\n${forged}the end`),
  ]);
  const following = (await world.follow("a", { cursor: "start" })).rest();
  for (let at = 0; at < output.length; at += 50_000) await log.write("stdout", output.subarray(at, at + 50_000));
  await log.write("stderr", Buffer.from("password hunter2\n"));
  await log.end();
  world.run("a", world.on("p1", { phase: "Succeeded" }));
  const bytesOf = (items: readonly LogItem[], stream: string) =>
    Buffer.concat(
      items.filter((item) => item.stream === stream).map((item) => recordBytes({ run: "x", seq: 1, ...item })),
    );
  const items = await following;
  expect(bytesOf(items, "stdout").equals(output)).toBe(true);
  expect(bytesOf(items, "stderr").toString()).toBe("password ***\n");
});
