import assert from "node:assert/strict";
import fc from "fast-check";
import type { LabelSelector } from "#api/kinds/run.ts";
import { compileSelector, pairOf } from "#controllers/scheduler/label-selector.ts";
import { selects } from "#local/apiserver/selectors/label-selector.ts";
import { defineTarget } from "../target.ts";

const key = fc.constantFrom("app", "zone", "constructor", "__proto__", "toString", "a/b");
const value = fc.constantFrom("", "x", "y", "function");
const map = fc.array(fc.tuple(key, value), { maxLength: 3 }).map((pairs) => Object.fromEntries(pairs));
const expression = fc
  .record({
    key,
    operator: fc.constantFrom("In", "NotIn", "Exists", "DoesNotExist"),
    values: fc.array(value, { minLength: 1, maxLength: 3 }),
  })
  .map(({ key, operator, values }) => (operator.includes("In") ? { key, operator, values } : { key, operator }));

export const affinity = (compile: typeof compileSelector = compileSelector) =>
  defineTarget({
    name: "affinity",
    holds: "the scheduler selects by labels what the API server selects, and its index leads to all of it",
    outcomes: ["selected", "not selected"],
    inputs: fc.record({
      selector: fc.record({ matchLabels: map, matchExpressions: fc.array(expression, { maxLength: 3 }) }),
      labels: map,
    }),
    check({ selector: { matchLabels, matchExpressions }, labels }) {
      const selector = { matchLabels, matchExpressions } as LabelSelector;
      const compiled = compile(selector);
      const found = compiled.matches(labels);
      const isEmpty = Object.keys(matchLabels).length + matchExpressions.length === 0;
      assert.equal(found, isEmpty || selects(selector, labels));
      const pairs = new Set(Object.entries(labels).map(([name, text]) => pairOf(name, text)));
      if (found)
        for (const any of compiled.lookups)
          assert(
            any.some((pair) => pairs.has(pair)),
            "the index leads there",
          );
      return found ? "selected" : "not selected";
    },
  });
