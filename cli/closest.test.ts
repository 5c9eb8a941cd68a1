import { expect, test } from "vitest";
import { closest, editDistance, suggestion } from "./closest.ts";

const distances: Record<string, { a: string; b: string; want: number }> = {
  "equal words have none": { a: "steps", b: "steps", want: 0 },
  "a letter is missing": { a: "step", b: "steps", want: 1 },
  "a letter is wrong": { a: "staps", b: "steps", want: 1 },
  "neighbours changed places": { a: "rnu", b: "run", want: 1 },
  "nothing and a word": { a: "", b: "run", want: 3 },
};

test.each(Object.entries(distances))("distance: %s", (_, { a, b, want }) => {
  expect(editDistance(a, b)).toBe(want);
  expect(editDistance(b, a)).toBe(want);
});

const candidates = ["runs-on", "needs", "if", "steps", "outputs"];

const cases: Record<string, { word: string; want: string | undefined }> = {
  "the nearest one is meant": { word: "run-on", want: "runs-on" },
  "case does not count": { word: "Needs", want: "needs" },
  "of a short word one letter may be wrong": { word: "fi", want: "if" },
  "what is far from all of them means none": { word: "container", want: undefined },
  "a short word is not turned into another one": { word: "x", want: undefined },
};

test("a name of one letter is not turned into another one", () => {
  expect(closest("b", ["a"])).toBeUndefined();
  expect(closest("A", ["a"])).toBe("a");
});

test.each(Object.entries(cases))("%s", (_, { word, want }) => {
  expect(closest(word, candidates)).toBe(want);
  expect(suggestion(word, candidates)).toBe(want === undefined ? undefined : `Did you mean ${want}?`);
});
