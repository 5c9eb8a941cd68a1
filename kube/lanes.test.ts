import { expect, test } from "vitest";
import { runLanes } from "./lanes.ts";

/** Effects are `LANE NAME`. */
const laneOf = (effect: string) => effect.split(" ")[0] ?? "";

function setup(limit = 8) {
  const log: string[] = [];
  const open = new Map<string, { end(): void; fail(error: Error): void }>();
  const run = (effect: string) =>
    new Promise<void>((resolve, reject) => {
      log.push(effect);
      open.set(effect, { end: resolve, fail: reject });
    });
  const settle = async () => {
    for (let n = 0; n < 10; n++) await Promise.resolve();
  };
  return {
    log,
    start: (...effects: string[]) => runLanes(effects, { laneOf, limit }, run),
    async end(effect: string) {
      open.get(effect)?.end();
      await settle();
    },
    async fail(effect: string, error = new Error("no")) {
      open.get(effect)?.fail(error);
      await settle();
    },
  };
}

test("lanes run side by side, the effects of one lane in order", async () => {
  const { log, start, end } = setup();
  const all = start("a 1", "b 1", "a 2", "b 2");
  expect(log).toEqual(["a 1", "b 1"]);
  await end("b 1");
  expect(log).toEqual(["a 1", "b 1", "b 2"]);
  await end("a 1");
  await end("a 2");
  await end("b 2");
  await all;
});

test("no more lanes than the limit run at a time", async () => {
  const { log, start, end } = setup(2);
  const all = start("a 1", "b 1", "c 1");
  expect(log).toEqual(["a 1", "b 1"]);
  await end("b 1");
  expect(log).toEqual(["a 1", "b 1", "c 1"]);
  await end("a 1");
  await end("c 1");
  await all;
});

test("a lane that fails keeps back what is behind it in that lane, and nothing else", async () => {
  const { log, start, end, fail } = setup();
  const all = start("a 1", "b 1", "a 2", "b 2");
  const outcome = expect(all).rejects.toThrow("no");
  await fail("a 1");
  await end("b 1");
  await end("b 2");
  await outcome;
  expect(log).toEqual(["a 1", "b 1", "b 2"]);
});

test("different failures are all told", async () => {
  const { start, fail } = setup();
  const outcome = expect(start("a 1", "b 1")).rejects.toMatchObject({ errors: [{ message: "x" }, { message: "y" }] });
  await fail("a 1", new Error("x"));
  await fail("b 1", new Error("y"));
  await outcome;
});

test("nothing to do is no error", async () => {
  await setup().start();
});
