import { expect, test } from "vitest";
import { wantsColor } from "./output.ts";

const cases: Record<string, { isTerminal: boolean; env: Record<string, string>; want: boolean }> = {
  "a terminal has colors": { isTerminal: true, env: {}, want: true },
  "a file has none": { isTerminal: false, env: {}, want: false },
  "NO_COLOR takes them": { isTerminal: true, env: { NO_COLOR: "1" }, want: false },
  "whatever it is set to": { isTerminal: true, env: { NO_COLOR: "0" }, want: false },
  "but not when it is empty": { isTerminal: true, env: { NO_COLOR: "" }, want: true },
  "FORCE_COLOR gives them": { isTerminal: false, env: { FORCE_COLOR: "1" }, want: true },
  "or takes them": { isTerminal: true, env: { FORCE_COLOR: "0" }, want: false },
  "NO_COLOR has the last word": { isTerminal: false, env: { NO_COLOR: "1", FORCE_COLOR: "1" }, want: false },
};

test.each(Object.entries(cases))("%s", (_, { isTerminal, env, want }) => {
  expect(wantsColor(isTerminal, env)).toBe(want);
});
