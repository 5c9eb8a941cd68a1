import fc from "fast-check";
import { expect, test } from "vitest";
import { VirtualClock } from "#kube/virtual-clock.ts";
import { defaultLogLimits } from "./limits.ts";
import { secretPatterns } from "./masker.ts";
import { MemorySink } from "./memory-sink.ts";
import { RunLog } from "./run-log.ts";

/** The records of a log that begins at some byte of the stream and takes it in chunks of these sizes. */
async function recordsFrom(bytes: Buffer, begin: number, sizes: readonly number[], secrets: readonly string[]) {
  const sink = new MemorySink();
  const clock = new VirtualClock();
  const limits = defaultLogLimits;
  const log = new RunLog({ runUid: "r", attempt: 1, sink, clock, limits, secrets: secretPatterns(secrets) });
  for (let at = begin, n = 0; at < bytes.length; n++) {
    const size = sizes[n % sizes.length] ?? 1;
    await log.write("stdout", bytes.subarray(at, at + size), 0, at);
    at += size;
  }
  await log.end();
  return sink.records;
}

test("each record says where it ends in what the program wrote, masked or not, and wherever the log begins", async () => {
  const word = fc.constantFrom("a", "secret", "longer than its mask", "abc", "\n", " ");
  const sizes = fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1, maxLength: 5 });
  await fc.assert(
    fc.asyncProperty(fc.array(word, { minLength: 1, maxLength: 30 }), sizes, fc.nat(), async (words, chunks, from) => {
      const bytes = Buffer.from(words.join(""));
      const lineStarts = [0, ...[...bytes].flatMap((byte, at) => (byte === 0x0a ? [at + 1] : []))];
      const begin = lineStarts[from % lineStarts.length] ?? 0;
      const records = await recordsFrom(bytes, begin, chunks, ["secret", "longer than its mask", "abc"]);
      const ends = records.filter(({ last }) => !last).map(({ end }) => end);
      // One record a line; the last may have no newline.
      const expected = [
        ...lineStarts.filter((start) => start > begin),
        ...(bytes.at(-1) === 0x0a ? [] : [bytes.length]),
      ];
      expect(ends).toEqual(expected.filter((end) => end > begin));
    }),
  );
});
