import { expect, test } from "vitest";
import { age, humanDuration } from "./human-duration.ts";

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;
const year = 365 * day;

test.each([
  ["a clock that is far ahead", -5 * second, "<invalid>"],
  ["a clock that is a little ahead", -1 * second, "0s"],
  ["seconds alone below two minutes", 119 * second, "119s"],
  ["minutes with seconds below ten minutes", 5 * minute + 30 * second, "5m30s"],
  ["full minutes without seconds", 5 * minute, "5m"],
  ["minutes alone below three hours", 179 * minute + 59 * second, "179m"],
  ["hours with minutes below eight hours", 3 * hour + 5 * minute, "3h5m"],
  ["hours alone below two days", 47 * hour, "47h"],
  ["days with hours below eight days", 3 * day + 4 * hour, "3d4h"],
  ["days alone below two years", 729 * day, "729d"],
  ["years with days below eight years", 2 * year + 3 * day, "2y3d"],
  ["years alone", 9 * year + 100 * day, "9y"],
])("%s", (_sentence, milliseconds, text) => {
  expect(humanDuration(milliseconds)).toBe(text);
});

test("an age counts from a time of the API and says when there is none", () => {
  const now = Date.parse("2026-01-01T00:01:00Z");
  expect(age("2026-01-01T00:00:00Z", now)).toBe("60s");
  expect(age(undefined, now)).toBe("<unknown>");
  expect(age("yesterday", now)).toBe("<invalid>");
});
