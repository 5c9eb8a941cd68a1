import { expect, test } from "vitest";
import type { WriterTables } from "./move-policy.ts";
import type { TransitionTable } from "./transition-rules.ts";
import { uniteTables, uniteWriters } from "./union.ts";

const now: TransitionTable = {
  initial: "Pending",
  moves: { Pending: ["Pending", "Running"], Running: ["Running", "Done"], Done: ["Done"] },
  reopens: {},
};
const before: TransitionTable = {
  initial: "Pending",
  moves: { Pending: ["Pending", "Waiting"], Waiting: ["Waiting", "Running"], Running: ["Running", "Pending"] },
  reopens: { Done: ["Pending"] },
};

test("without a release before, the chart is all there is", () => {
  expect(uniteTables(now, undefined)).toBe(now);
  const writers: WriterTables = { agent: { moves: now.moves, reopens: {} } };
  expect(uniteWriters(writers, undefined)).toEqual(writers);
});

test("what either release does is admitted, phases that are gone included", () => {
  expect(uniteTables(now, before)).toEqual({
    initial: "Pending",
    moves: {
      Pending: ["Pending", "Running", "Waiting"],
      Running: ["Running", "Done", "Pending"],
      Done: ["Done"],
      Waiting: ["Waiting", "Running"],
    },
    reopens: { Done: ["Pending"] },
  });
});

test("the same chart again changes nothing, the order included", () => {
  expect(JSON.stringify(uniteTables(now, now))).toBe(JSON.stringify(now));
});

test("a writer keeps the moves that it had, also when it has none of its own any more", () => {
  const of = (table: TransitionTable) => ({ moves: table.moves, reopens: table.reopens });
  const united = uniteWriters({ controller: of(now) }, { controller: of(before), agent: of(before) });
  const { moves, reopens } = uniteTables(now, before);
  expect(united).toEqual({ controller: { moves, reopens }, agent: of(before) });
});
