import fc from "fast-check";
import { expect, test } from "vitest";
import { matchesNode, type Node, nodeFields, parseNodeFieldSelector } from "./node-field-selector.ts";

const gate: Node = {
  name: "deploy/approve",
  job: "deploy",
  step: "approve",
  displayName: "approve",
  phase: "Suspended",
  type: "Gate",
};
const job: Node = { name: "deploy", job: "deploy", step: "", displayName: "deploy", phase: "Failed", type: "Job" };

const matching: Record<string, { text: string; node?: Node; want: boolean }> = {
  "one term": { text: "name=deploy/approve", want: true },
  "a doubled equals sign": { text: "name==deploy/approve", want: true },
  "a term that does not hold": { text: "name=deploy", want: false },
  "unequal to another value": { text: "step!=other", want: true },
  "unequal to this value": { text: "step!=approve", want: false },
  "a comma means and": { text: "job=deploy,step=approve,type=Gate", want: true },
  "one of several that does not hold": { text: "job=deploy,step=other", want: false },
  "spaces around terms": { text: " job = deploy , step != other ", want: true },
  "no terms": { text: "", want: true },
  "empty terms": { text: ",,", want: true },
  "a field that the node does not have is empty": { text: "step=", node: job, want: true },
  "an escaped comma and equals sign": {
    text: "displayName=a\\,b\\=c\\\\",
    node: { ...gate, displayName: "a,b=c\\" },
    want: true,
  },
  "values are told apart by case": { text: "phase=suspended", want: false },
};

test.each(Object.entries(matching))("%s", (_, { text, node = gate, want }) => {
  const parsed = parseNodeFieldSelector(text);
  expect(parsed.ok && matchesNode(parsed.selector, node)).toBe(want);
});

const broken: Record<string, { text: string; message: RegExp }> = {
  "an unknown field": { text: "nmae!=x", message: /no field "nmae": use name, job, step/ },
  "a field of another engine": { text: "templateName=x", message: /no field "templateName"/ },
  "no operator": { text: "deploy", message: /"deploy" is no term/ },
  "no field": { text: "=x", message: /no field ""/ },
  "sets are not known": { text: "phase in (A)", message: /is no term/ },
  "a second equals sign": { text: "name=a=b", message: /in a value write/ },
  "a backslash before another character": { text: "name=a\\b", message: /in a value write/ },
  "a backslash at the end": { text: "name=a\\", message: /in a value write/ },
};

test.each(Object.entries(broken))("%s is refused", (_, { text, message }) => {
  const parsed = parseNodeFieldSelector(text);
  expect(parsed.ok ? "" : parsed.message).toMatch(message);
});

test("every value can be written, and no text is misread or throws", () => {
  const escaped = (value: string) => value.replace(/[\\,=]/g, (char) => `\\${char}`);
  fc.assert(
    fc.property(fc.constantFrom(...nodeFields), fc.string(), fc.string(), (field, value, text) => {
      const trimmed = value.trim();
      const parsed = parseNodeFieldSelector(`${field}=${escaped(trimmed)}`);
      expect(parsed.ok && matchesNode(parsed.selector, { ...gate, [field]: trimmed })).toBe(true);
      parseNodeFieldSelector(text);
    }),
  );
});
