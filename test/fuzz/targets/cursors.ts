import assert from "node:assert/strict";
import fc from "fast-check";
import {
  decodeCursor,
  encodeCursor,
  type Place,
  podKey,
  runKey,
  start,
  startCursor,
} from "#extension-api/logs/cursor.ts";
import { parseLogQuery } from "#extension-api/logs/query.ts";
import { StatusError } from "#kube/transport.ts";
import { mutatedText } from "../mutate.ts";
import { defineTarget } from "../target.ts";

const run = runKey("run-uid");
const places: readonly Place[] = [
  start,
  { attempt: 1, seq: 9 },
  { attempt: 3, seq: 120, ends: { stdout: 5, stderr: 0 } },
  { attempt: 2, seq: 0, at: { pod: podKey("pod"), position: "12.34" }, ends: { stdout: 1, stderr: 2 } },
];
const examples = [
  ...places.map((place) => encodeCursor(run, place)),
  encodeCursor(runKey("other"), { attempt: 1, seq: 1 }),
];

type Decode = typeof decodeCursor;

export const cursors = (decode: Decode = decodeCursor) =>
  defineTarget({
    name: "cursors",
    holds: "any text is a cursor of its Run, or a 400 or 410; a cursor that is written again means the same place",
    outcomes: ["a place", "400", "410"],
    inputs: mutatedText(examples, ["-", "~", ".", "0", "1-", run, "999999999999999", "start", "\n", "é"]),
    check(text) {
      const place = orCode(() => decode(run, text));
      if (typeof place === "number") return String(place);
      assert(place.attempt >= 0 && Number.isSafeInteger(place.attempt) && Number.isSafeInteger(place.seq));
      const again = encodeCursor(run, place);
      // Before the first record nothing was printed, whatever such a cursor says.
      if (again !== startCursor) assert.deepEqual(decode(run, again), place);
      return "a place";
    },
  });

const query = fc.dictionary(
  fc.constantFrom("follow", "tailLines", "cursor", "attempt", "sinceTime", "sinceTime", "limit"),
  fc.oneof(
    fc.constantFrom("true", "false", "1", "0", "", "10", "-1", "1e3", "999999999999999", "9".repeat(40)),
    mutatedText(
      ["2026-01-01T00:00:00Z", "2026-02-30T25:61:61.123456789+99:99", "1969-12-31T23:59:59.9Z"],
      ["-", "9", "Z"],
    ),
    fc.string(),
  ),
  { maxKeys: 4 },
);

export const logQueries = (parse: typeof parseLogQuery = parseLogQuery) =>
  defineTarget({
    name: "log-queries",
    holds: "any query of the log API is read with sound numbers, or a 400 that says why",
    outcomes: ["read", "400"],
    inputs: query,
    check(parameters) {
      const read = orCode(() => parse(parameters));
      if (typeof read === "number") return String(read);
      assert(Number.isSafeInteger(read.tailLines) && read.tailLines >= 1 && read.tailLines <= 500);
      assert(read.attempt === undefined || (Number.isSafeInteger(read.attempt) && read.attempt >= 1));
      assert(read.sinceMs === undefined || Number.isFinite(read.sinceMs));
      return "read";
    },
  });

function orCode<T extends object>(decode: () => T): T | number {
  try {
    return decode();
  } catch (error) {
    if (!(error instanceof StatusError) || error.message === "") throw error;
    return error.code;
  }
}
