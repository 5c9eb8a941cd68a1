import { expect, test } from "vitest";
import { compileInputs } from "./inputs.ts";
import { quotesAdvice } from "./yaml-words.ts";

test.each([
  ["y", ["true"], "YAML reads the key y as true: put quotes around it where it is declared."],
  ["Off", ["x", "false"], "YAML reads the key Off as false: put quotes around it where it is declared."],
  ["y", ["false"], undefined],
  ["yes", ["ye"], undefined],
  ["other", ["true", "false"], undefined],
])("%s, where %s are declared", (name, declared, want) => {
  expect(quotesAdvice(name, declared)).toBe(want);
});

test("an input whose name was read as a truth value is refused, even if no expression uses it", () => {
  const { errors } = compileInputs({ false: {}, ok: {} }, "spec.inputs");
  expect(errors).toMatchObject([
    { path: "spec.inputs.false", advice: "YAML reads the keys n, no, off as false: put quotes around them." },
  ]);
});
