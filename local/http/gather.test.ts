import { setImmediate as turn } from "node:timers/promises";
import { expect, test } from "vitest";
import { gather } from "./gather.ts";

async function all(pieces: AsyncIterable<string>): Promise<string[]> {
  const found: string[] = [];
  for await (const piece of pieces) found.push(piece);
  return found;
}

test("what is there at once is joined, what comes later comes later", async () => {
  async function* source() {
    for (let n = 0; n < 100; n++) yield `${n};`;
    for (let turns = 0; turns < 5; turns++) await turn();
    yield "later";
  }
  const joined = await all(gather(source()));
  expect(joined.join("")).toBe(`${Array.from({ length: 100 }, (_, n) => `${n};`).join("")}later`);
  expect(joined.length).toBeLessThan(5);
  expect(joined.at(-1)).toBe("later");
});

test("pieces do not grow without end", async () => {
  async function* source() {
    for (let n = 0; n < 1000; n++) yield "x".repeat(1024);
  }
  const joined = await all(gather(source()));
  expect(Math.max(...joined.map(({ length }) => length))).toBeLessThanOrEqual(65 * 1024);
  expect(joined.join("").length).toBe(1000 * 1024);
});

test("a piece that waits for the next one is not held back", async () => {
  async function* source() {
    yield "one";
    await new Promise(() => {});
  }
  const pieces = gather(source());
  expect((await pieces.next()).value).toBe("one");
});

test("an error comes after what was said before it", async () => {
  async function* source() {
    yield "one";
    await turn();
    await turn();
    throw new Error("broken");
  }
  const pieces = gather(source());
  expect((await pieces.next()).value).toBe("one");
  await expect(pieces.next()).rejects.toThrow("broken");
});

test("leaving ends the source", async () => {
  let ended = false;
  async function* source() {
    try {
      for (;;) {
        yield "x";
        await turn();
      }
    } finally {
      ended = true;
    }
  }
  for await (const _ of gather(source())) break;
  await expect.poll(() => ended).toBe(true);
});
