import assert from "node:assert/strict";
import fc from "fast-check";
import { type FieldRequirement, parseFieldSelector } from "#local/apiserver/selectors/field.ts";
import { type LabelSelector, parseLabelSelector, SelectorError } from "#local/apiserver/selectors/label.ts";
import { mutatedText } from "../mutate.ts";
import { defineTarget } from "../target.ts";

const labelExamples = [
  "app=web,tier!=back",
  "app in (web, api),env notin (prod)",
  "!legacy,example.com/n>4,size<9",
  "app==web , a.b/c=",
  "in,notin in (in)",
];
const tokens = [
  ..."!=(),<> ",
  "==",
  "!=",
  " in (",
  "notin",
  "constructor",
  "__proto__",
  "-1",
  "x".repeat(64),
  "\t",
  "\\",
];
const labelValue = fc.constantFrom("", "web", "5", "-3", "x");
const labels = fc.dictionary(
  fc.constantFrom("app", "env", "size", "a", "constructor", "in", "example.com/n"),
  labelValue,
);

type ParseLabels = (text: string) => LabelSelector;

export const labelSelectors = (parse: ParseLabels = parseLabelSelector) =>
  defineTarget({
    name: "label-selectors",
    holds: "any text is a selector or refused; two with a comma between them select what both select, in either order",
    outcomes: ["selected", "not selected", "refused"],
    inputs: fc.record({
      first: mutatedText(labelExamples, tokens),
      second: fc.oneof(fc.constantFrom("app=web", "!size", "env notin (x)"), mutatedText(labelExamples, tokens)),
      labels: fc.option(labels, { nil: undefined }),
    }),
    check({ first, second, labels: own }) {
      const [one, two] = [orRefused(() => parse(first)), orRefused(() => parse(second))];
      const both = [`${first},${second}`, `${second},${first}`].map((text) => orRefused(() => parse(text)));
      // A text without any term selects everything, but is none beside a comma.
      if (one === undefined || two === undefined || first.trim() === "" || second.trim() === "") {
        if (one === undefined) return "refused";
        return one(own) ? "selected" : "not selected";
      }
      const want = one(own) && two(own);
      for (const selector of both) assert.equal(selector?.(own), want);
      return want ? "selected" : "not selected";
    },
  });

const fieldExamples = ["metadata.name=a,status.phase!=Running", "a==b\\,c\\=d\\\\", "spec.nodeName=,x=y"];
type ParseFields = (text: string) => readonly FieldRequirement[];

const escaped = (value: string) => value.replaceAll(/[\\,=]/g, (char) => `\\${char}`);
const printed = (terms: readonly FieldRequirement[]) =>
  terms.map(({ field, equal, value }) => `${field}${equal ? "=" : "!="}${escaped(value)}`).join(",");

export const fieldSelectors = (parse: ParseFields = parseFieldSelector) =>
  defineTarget({
    name: "field-selectors",
    holds: "any text is a selector or refused; a selector that is printed is read back as the same one",
    outcomes: ["read", "refused"],
    inputs: mutatedText(fieldExamples, [..."=,!\\ ", "==", "!=", "\\,", "\\\\", "\\="]),
    check(text) {
      const terms = orRefused(() => parse(text));
      if (terms === undefined) return "refused";
      assert.deepEqual(parse(printed(terms)), terms);
      return "read";
    },
  });

function orRefused<T>(parse: () => T): T | undefined {
  try {
    return parse();
  } catch (error) {
    if (error instanceof SelectorError && error.message !== "") return undefined;
    throw error;
  }
}
