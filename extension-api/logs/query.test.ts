import { expect, test } from "vitest";
import { parseLogQuery } from "./query.ts";

const defaults = { follow: false, tailLines: 100, cursor: undefined, attempt: undefined, sinceMs: undefined };

const good: Record<string, { query: Record<string, string>; want: object }> = {
  "nothing asked for": { query: {}, want: {} },
  "a stream": { query: { follow: "true" }, want: { follow: true } },
  "a stream, as a number": { query: { follow: "1" }, want: { follow: true } },
  "no stream": { query: { follow: "false" }, want: {} },
  "so many records": { query: { tailLines: "20" }, want: { tailLines: 20 } },
  "the most records": { query: { tailLines: "500" }, want: { tailLines: 500 } },
  "more than the most": { query: { tailLines: "501" }, want: { tailLines: 500 } },
  "a cursor makes tailLines meaningless": { query: { cursor: "c", tailLines: "x" }, want: { cursor: "c" } },
  "an empty cursor is none": { query: { cursor: "" }, want: {} },
  "one attempt": { query: { attempt: "3" }, want: { attempt: 3 } },
  "since a time": { query: { sinceTime: "1970-01-01T00:00:01Z" }, want: { sinceMs: 1000 } },
};

test.each(Object.entries(good))("%s", (_, { query, want }) => {
  expect(parseLogQuery(query)).toEqual({ ...defaults, ...want });
});

const bad: Record<string, { query: Record<string, string>; says: string }> = {
  "no records": { query: { tailLines: "0" }, says: 'tailLines is a whole number from 1, not "0"' },
  "a negative number": { query: { tailLines: "-1" }, says: "tailLines is a whole number" },
  "a fraction": { query: { tailLines: "1.5" }, says: "tailLines is a whole number" },
  "a word": { query: { tailLines: "all" }, says: "tailLines is a whole number" },
  "an empty number": { query: { tailLines: "" }, says: "tailLines is a whole number" },
  "attempt 0": { query: { attempt: "0" }, says: "attempt is a whole number from 1" },
  "a follow that is neither": { query: { follow: "yes" }, says: 'follow is true or false, not "yes"' },
  "a time that is none": { query: { sinceTime: "yesterday" }, says: 'not "yesterday"' },
  "a parameter that does not exist": {
    query: { tail: "5" },
    says: 'unknown query parameter "tail"; there are follow, tailLines',
  },
};

test.each(Object.entries(bad))("refused: %s", (_, { query, says }) => {
  expect(() => parseLogQuery(query)).toThrowError(
    expect.objectContaining({ code: 400, message: expect.stringContaining(says) }),
  );
});
