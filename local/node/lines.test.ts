import { Readable } from "node:stream";
import { expect, test } from "vitest";
import { followLines } from "./lines.ts";

async function linesOf(...chunks: (string | Buffer)[]): Promise<string[]> {
  const lines: string[] = [];
  const stream = Readable.from(chunks.map((chunk) => Buffer.from(chunk)));
  const over = new Promise((resolve) => stream.on("close", resolve));
  followLines(stream, (line) => lines.push(line));
  await over;
  return lines;
}

const cases: Record<string, { chunks: (string | Buffer)[]; want: string[] }> = {
  "several lines in one piece": { chunks: ["a\nb\n"], want: ["a", "b"] },
  "a line in several pieces": { chunks: ["a", "b", "c\nd", "\n"], want: ["abc", "d"] },
  "an empty line": { chunks: ["\n\na\n"], want: ["", "", "a"] },
  "a last line without a newline": { chunks: ["a\nb"], want: ["a", "b"] },
  "nothing at all": { chunks: [], want: [] },
  "only a newline ends a line": {
    chunks: ["one\u2028two\u2029three\rfour\n"],
    want: ["one\u2028two\u2029three\rfour"],
  },
  "a character that is cut in two": {
    chunks: [Buffer.from("ä").subarray(0, 1), Buffer.from("ä\n").subarray(1)],
    want: ["ä"],
  },
};

test.each(Object.entries(cases))("%s", async (_, { chunks, want }) => {
  expect(await linesOf(...chunks)).toEqual(want);
});

test("a line without end comes in pieces and fills no memory", async () => {
  const lines = await linesOf(...Array(20).fill("x".repeat(10_000)), "\n");
  expect(lines.join("")).toBe("x".repeat(200_000));
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThan(80_000);
});
