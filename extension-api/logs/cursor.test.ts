import fc from "fast-check";
import { expect, test } from "vitest";
import { decodeCursor, encodeCursor, podKey, runKey, start, startCursor } from "./cursor.ts";

test("a cursor leads back to its place, whatever the position of the adapter is", () => {
  const at = fc.record({
    pod: fc.uuid().map(podKey),
    position: fc.stringMatching(/^[\w.]{1,60}$/),
  });
  const place = fc.record(
    { attempt: fc.integer({ min: 1, max: 100 }), seq: fc.nat(), at },
    { requiredKeys: ["attempt", "seq"] },
  );
  fc.assert(
    fc.property(fc.uuid().map(runKey), place, (run, one) => {
      expect(decodeCursor(run, encodeCursor(run, one))).toEqual(one);
    }),
  );
});

test("the beginning has the same cursor for every Run", () => {
  expect(encodeCursor(runKey("any"), start)).toBe(startCursor);
  expect(decodeCursor(runKey("other"), startCursor)).toEqual(start);
});

test("a cursor is short, because every record carries one", () => {
  const place = { attempt: 1, seq: 1000, at: { pod: podKey("x"), position: "123456789" } };
  expect(encodeCursor(runKey("run"), place).length).toBeLessThan(50);
});

const bad: Record<string, { cursor: string; code: number }> = {
  "no cursor at all": { cursor: "hello", code: 400 },
  "another version": { cursor: "2-00000000-1-1", code: 400 },
  "a place without a number": { cursor: "1-00000000-x-1", code: 400 },
  "a broken position": {
    cursor: encodeCursor(runKey("run"), { attempt: 1, seq: 1 }).concat("-00000000-%zz"),
    code: 400,
  },
  "the cursor of another Run": { cursor: encodeCursor(runKey("other"), { attempt: 1, seq: 1 }), code: 410 },
  "something long": { cursor: `1-00000000-1-1-00000000-${"9".repeat(5000)}`, code: 400 },
};

test.each(Object.entries(bad))("refused: %s", (_, { cursor, code }) => {
  expect(() => decodeCursor(runKey("run"), cursor)).toThrowError(expect.objectContaining({ code }));
});
