import { expect, test } from "vitest";
import { gateOutputs } from "./gate-outputs.ts";

const declared = new Map([
  ["who", { default: "nobody" }],
  ["ok", { options: ["yes", "no"] }],
]);

test.each<[string, Record<string, string>, unknown]>([
  ["a supplied value, and a default for what is not", { ok: "yes" }, { who: "nobody", ok: "yes" }],
  ["a supplied value before its default", { ok: "no", who: "me" }, { who: "me", ok: "no" }],
  ["an empty text is a value", { ok: "yes", who: "" }, { who: "", ok: "yes" }],
  ["nothing for what has no default", { who: "me" }, /needs the output "ok", which has no default/],
  ["a value that is no option", { ok: "maybe" }, /"maybe" is no option of the output "ok": yes, no/],
  [
    "an output that the gate does not have",
    { ok: "yes", toString: "x" },
    /does not expect the output "toString": it has who, ok/,
  ],
])("%s", (_, supplied, want) => {
  const result = gateOutputs("deploy/approve", declared, supplied);
  if (want instanceof RegExp) expect(result.ok ? "" : result.message).toMatch(want);
  else expect(result).toEqual({ ok: true, outputs: want });
});
