import { Readable } from "node:stream";
import { expect, test } from "vitest";
import { followLines } from "./lines.ts";

async function handed(...chunks: (string | Buffer)[]): Promise<string[]> {
  const batches: string[] = [];
  const stream = Readable.from(chunks.map((chunk) => Buffer.from(chunk)));
  const over = new Promise((resolve) => stream.on("close", resolve));
  followLines(stream, (lines) => batches.push(lines.toString()));
  await over;
  return batches;
}

const cases: Record<string, { chunks: (string | Buffer)[]; want: string[] }> = {
  "lines that arrive together": { chunks: ["a\nb\n"], want: ["a\nb\n"] },
  "a line in several pieces": { chunks: ["a", "b", "c\nd", "\n"], want: ["abc\n", "d\n"] },
  "an empty line": { chunks: ["\n\na\n"], want: ["\n\na\n"] },
  "a last line without a newline": { chunks: ["a\nb"], want: ["a\n", "b\n"] },
  "nothing at all": { chunks: [], want: [] },
  "only a newline ends a line": {
    chunks: ["one\u2028two\u2029", "three\rfour\n"],
    want: ["one\u2028two\u2029three\rfour\n"],
  },
  "a character that is cut in two": {
    chunks: [Buffer.from("ä").subarray(0, 1), Buffer.from("ä\n").subarray(1)],
    want: ["ä\n"],
  },
};

test.each(Object.entries(cases))("%s", async (_, { chunks, want }) => {
  expect(await handed(...chunks)).toEqual(want);
});

test("a line without end comes in pieces and fills no memory", async () => {
  const batches = await handed(...Array(20).fill("x".repeat(10_000)), "\n");
  expect(batches.join("").replaceAll("\n", "")).toBe("x".repeat(200_000));
  expect(Math.max(...batches.map((lines) => lines.length))).toBeLessThan(80_000);
});
