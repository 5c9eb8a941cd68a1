import { expect, test } from "vitest";
import { Gaps } from "./gaps.ts";

type At = [attempt: number, seq: number];

const cases: Record<string, { start: [number, number | undefined]; records: At[]; want: number[] }> = {
  "in a row nothing is missing": {
    start: [1, 0],
    records: [
      [1, 1],
      [1, 2],
      [1, 3],
    ],
    want: [0, 0, 0],
  },
  "a jump is what is missing": {
    start: [1, 0],
    records: [
      [1, 1],
      [1, 5],
    ],
    want: [0, 3],
  },
  "a log that does not begin at its beginning": { start: [1, 0], records: [[1, 4]], want: [3] },
  "a tail begins anywhere": {
    start: [1, undefined],
    records: [
      [1, 40],
      [1, 42],
    ],
    want: [0, 1],
  },
  "reading goes on after a cursor": {
    start: [1, 7],
    records: [
      [1, 8],
      [1, 10],
    ],
    want: [0, 1],
  },
  "each attempt counts from 1": {
    start: [1, 0],
    records: [
      [1, 1],
      [2, 1],
      [3, 3],
    ],
    want: [0, 0, 2],
  },
  "an agent that was started again counts from 1": {
    start: [1, 0],
    records: [
      [1, 1],
      [1, 2],
      [1, 1],
      [1, 2],
    ],
    want: [0, 0, 0, 0],
  },
};

test.each(Object.entries(cases))("%s", (_, { start: [attempt, seq], records, want }) => {
  const gaps = new Gaps(attempt, seq);
  expect(records.map(([attempt, seq]) => gaps.before({ attempt, seq }))).toEqual(want);
});
