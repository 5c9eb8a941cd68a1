import { expect, test } from "vitest";
import { parseRange } from "./byte-range.ts";

const cases: Record<string, { header: string | undefined; want: ReturnType<typeof parseRange> }> = {
  "no header": { header: undefined, want: undefined },
  "from a byte to the end": { header: "bytes=4-", want: { start: 4, end: 10 } },
  "from the beginning": { header: "bytes=0-", want: { start: 0, end: 10 } },
  "a part": { header: "bytes=2-5", want: { start: 2, end: 6 } },
  "one byte": { header: "bytes=9-9", want: { start: 9, end: 10 } },
  "more than there is": { header: "bytes=5-500", want: { start: 5, end: 10 } },
  "the last bytes": { header: "bytes=-3", want: { start: 7, end: 10 } },
  "more last bytes than there are": { header: "bytes=-30", want: { start: 0, end: 10 } },
  "after the end": { header: "bytes=10-", want: "unsatisfiable" },
  "no last bytes": { header: "bytes=-0", want: "unsatisfiable" },
  "backwards is no range": { header: "bytes=5-4", want: undefined },
  "several ranges": { header: "bytes=0-1,4-5", want: undefined },
  "another unit": { header: "lines=0-1", want: undefined },
  nothing: { header: "bytes=-", want: undefined },
  words: { header: "bytes=a-b", want: undefined },
};

test.each(Object.entries(cases))("%s", (_, { header, want }) => {
  expect(parseRange(header, 10)).toEqual(want);
});

test("of an empty file no part can be had", () => {
  expect(parseRange("bytes=0-", 0)).toBe("unsatisfiable");
  expect(parseRange(undefined, 0)).toBeUndefined();
});
