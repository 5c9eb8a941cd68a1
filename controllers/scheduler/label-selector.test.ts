import { expect, test } from "vitest";
import type { LabelSelector } from "#api/kinds/run.ts";
import { LabelIndex } from "./label-index.ts";
import { compileSelector, type Labels } from "./label-selector.ts";

const cases: Record<string, { selector: LabelSelector; yes: Labels[]; no: Labels[] }> = {
  "an empty selector chooses everything": { selector: {}, yes: [{}, { a: "1" }], no: [] },
  "all labels must match": {
    selector: { matchLabels: { a: "1", b: "2" } },
    yes: [{ a: "1", b: "2", c: "3" }],
    no: [{ a: "1" }, { a: "1", b: "3" }, {}],
  },
  "In needs the key with one of the values": {
    selector: { matchExpressions: [{ key: "a", operator: "In", values: ["1", "2"] }] },
    yes: [{ a: "1" }, { a: "2" }],
    no: [{ a: "3" }, {}],
  },
  "In with the empty value is no Exists": {
    selector: { matchExpressions: [{ key: "a", operator: "In", values: [""] }] },
    yes: [{ a: "" }],
    no: [{}, { a: "1" }],
  },
  "NotIn also chooses what has no such key": {
    selector: { matchExpressions: [{ key: "a", operator: "NotIn", values: ["1"] }] },
    yes: [{ a: "2" }, {}],
    no: [{ a: "1" }],
  },
  "Exists needs the key with any value": {
    selector: { matchExpressions: [{ key: "a", operator: "Exists" }] },
    yes: [{ a: "" }, { a: "1" }],
    no: [{ b: "1" }],
  },
  "DoesNotExist needs its absence": {
    selector: { matchExpressions: [{ key: "a", operator: "DoesNotExist" }] },
    yes: [{ b: "1" }, {}],
    no: [{ a: "1" }],
  },
  "no key is there that only every JavaScript object has": {
    selector: {
      matchExpressions: [
        { key: "constructor", operator: "DoesNotExist" },
        { key: "toString", operator: "NotIn", values: ["x"] },
      ],
    },
    yes: [{}, { a: "1" }],
    no: [{ constructor: "1" }],
  },
  "labels and expressions hold together": {
    selector: { matchLabels: { a: "1" }, matchExpressions: [{ key: "b", operator: "In", values: ["1", "2"] }] },
    yes: [{ a: "1", b: "2" }],
    no: [{ a: "1" }, { b: "2" }],
  },
};

test.each(Object.entries(cases))("%s", (_, { selector, yes, no }) => {
  const compiled = compileSelector(selector);
  expect([...yes, ...no].filter((labels) => compiled.matches(labels))).toEqual(yes);

  // The index finds the same ones.
  const index = new LabelIndex();
  for (const [i, labels] of [...yes, ...no].entries()) index.add(`r${i}`, `p${i}`, labels);
  expect([...index.podsMatching(compiled).keys()].sort()).toEqual(yes.map((_labels, i) => `p${i}`).sort());
});

test("equal selectors have equal keys whatever the order of their labels", () => {
  const [a, b] = [{ matchLabels: { x: "1", y: "2" } }, { matchLabels: { y: "2", x: "1" } }];
  expect(compileSelector(a).key).toBe(compileSelector(b).key);
  expect(compileSelector(a).key).not.toBe(compileSelector({ matchLabels: { x: "1" } }).key);
});

test("the index counts Runs by Pod, and forgets a Run with all its labels", () => {
  const index = new LabelIndex();
  const team = compileSelector({ matchLabels: { team: "a" } });
  index.add("r1", "p1", { team: "a", job: "x" });
  index.add("r2", "p1", { team: "a" });
  index.add("r3", "p2", { team: "a" });
  index.add("r4", "p2", { team: "b" });
  expect(index.podsMatching(team)).toEqual(
    new Map([
      ["p1", 2],
      ["p2", 1],
    ]),
  );
  index.add("r3", "p3", { team: "a" }); // moved
  index.remove("r1");
  index.remove("r1");
  expect(index.podsMatching(team)).toEqual(
    new Map([
      ["p1", 1],
      ["p3", 1],
    ]),
  );
  expect(index.podsMatching(compileSelector({ matchLabels: { job: "x" } })).size).toBe(0);
});
