import { expect, test } from "vitest";
import { CliError } from "../errors.ts";
import { compileTemplate } from "./json-path.ts";

const object = {
  metadata: { name: "a", labels: { "app.kubernetes.io/name": "x" } },
  status: {
    attempt: 2,
    conditions: [
      { type: "Ready", status: "True", n: 1 },
      { type: "Finished", status: "False", n: 3 },
    ],
  },
  items: [{ n: "one" }, { n: "two" }, { n: "three" }],
};

const cases: Record<string, [template: string, want: string]> = {
  "a path": ["{.metadata.name}", "a"],
  "a path without braces": [".metadata.name", "a"],
  "a path without a dot": ["metadata.name", "a"],
  "a path from the root": ["{$.metadata.name}", "a"],
  "text around": ["name={.metadata.name};", "name=a;"],
  "a number": ["{.status.attempt}", "2"],
  "an object": ["{.metadata.labels}", '{"app.kubernetes.io/name":"x"}'],
  "a key with dots, escaped": ["{.metadata.labels.app\\.kubernetes\\.io/name}", "x"],
  "a key with dots, in brackets": ["{.metadata.labels['app.kubernetes.io/name']}", "x"],
  "all items": ["{.items[*].n}", "one two three"],
  "one item": ["{.items[1].n}", "two"],
  "the last item": ["{.items[-1].n}", "three"],
  "some items": ["{.items[0:2].n}", "one two"],
  "items with a value": ['{.status.conditions[?(@.type=="Ready")].status}', "True"],
  "items with another value": ["{.status.conditions[?(@.type!='Ready')].status}", "False"],
  "items with a larger number": ["{.status.conditions[?(@.n>1)].type}", "Finished"],
  "items with a member": ["{.status.conditions[?(@.n)].type}", "Ready Finished"],
  "what is not there": ["{.status.phase}", ""],
  "quoted text": ['{.metadata.name}{"\\t"}{"\\n"}', "a\t\n"],
  "a range": ['{range .items[*]}{.n}{","}{end}', "one,two,three,"],
};

test.each(Object.entries(cases))("%s", (_, [template, want]) => {
  expect(compileTemplate(template)(object)).toBe(want);
});

const mistakes = {
  "an open brace": "{.a",
  "an open bracket": "{.a[}",
  "a range without end": "{range .items[*]}{.n}",
  "an end without range": "{end}",
  "a function": "{.a.length()}",
};

test.each(Object.entries(mistakes))("%s is refused", (_, template) => {
  expect(() => compileTemplate(template)).toThrow(CliError);
});
