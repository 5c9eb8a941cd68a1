import fc from "fast-check";
import { expect, test } from "vitest";
import { parseLabelSelector, SelectorError } from "./label.ts";

const labels = { app: "web", tier: "front", "example.com/n": "5", empty: "" };

const matching: Record<string, boolean> = {
  "": true,
  "app=web": true,
  "app==web": true,
  "app=api": false,
  "app!=web": false,
  "app!=api": true,
  "missing!=x": true,
  app: true,
  "!app": false,
  "!missing": true,
  "app in (web, api)": true,
  "app in (api)": false,
  "app notin (api)": true,
  "app notin (web)": false,
  "missing notin (web)": true,
  "missing in (web)": false,
  "empty=": true,
  "app=": false,
  "missing=": false,
  "empty in ()": true,
  "app in (,web)": true,
  "example.com/n>4": true,
  "example.com/n>5": false,
  "example.com/n<6": true,
  "app<6": false,
  "app=web,tier=front": true,
  "app=web,tier=back": false,
  "app in (web,api),!missing , tier": true,
  "  app  =  web  ": true,
  "in=x": false,
  "constructor=x": false,
  constructor: false,
};

test.each(Object.entries(matching))("%j selects: %s", (selector, want) => {
  expect(parseLabelSelector(selector)(labels)).toBe(want);
});

test("objects without labels match only what asks for absence", () => {
  expect(parseLabelSelector("!a")(undefined)).toBe(true);
  expect(parseLabelSelector("a")(undefined)).toBe(false);
});

test.each([
  "a=b=c",
  "a b",
  "=a",
  "a in b",
  "a in (b",
  "a in (b c)",
  "a,",
  ",a",
  "a>b",
  "-a=b",
  "a=-b",
  "a!b",
  "a/b/c=d",
  `a=${"x".repeat(64)}`,
])("%j is refused", (selector) => {
  expect(() => parseLabelSelector(selector)).toThrow(SelectorError);
});

const name: fc.Arbitrary<string> = fc.constantFrom("a", "b", "c");
const value: fc.Arbitrary<string> = fc.constantFrom("", "x", "y");
const requirement = fc.oneof(
  fc.record({ kind: fc.constant("equal" as const), name, value }),
  fc.record({ kind: fc.constant("differs" as const), name, value }),
  fc.record({ kind: fc.constant("exists" as const), name }),
  fc.record({ kind: fc.constant("absent" as const), name }),
  fc.record({ kind: fc.constant("in" as const), name, values: fc.array(value, { minLength: 1, maxLength: 3 }) }),
  fc.record({ kind: fc.constant("notin" as const), name, values: fc.array(value, { minLength: 1, maxLength: 3 }) }),
);
type Requirement = typeof requirement extends fc.Arbitrary<infer T> ? T : never;

function print(part: Requirement): string {
  switch (part.kind) {
    case "equal":
      return `${part.name}=${part.value}`;
    case "differs":
      return `${part.name}!=${part.value}`;
    case "exists":
      return part.name;
    case "absent":
      return `!${part.name}`;
    default:
      return `${part.name} ${part.kind} (${part.values.join(",")})`;
  }
}

function holds(part: Requirement, own: Record<string, string>): boolean {
  const found = own[part.name];
  switch (part.kind) {
    case "equal":
      return found === part.value;
    case "differs":
      return found !== part.value;
    case "exists":
      return found !== undefined;
    case "absent":
      return found === undefined;
    case "in":
      return found !== undefined && part.values.includes(found);
    case "notin":
      return found === undefined || !part.values.includes(found);
  }
}

test("any list of requirements is read back as what it says", () => {
  fc.assert(
    fc.property(fc.array(requirement, { maxLength: 5 }), fc.dictionary(name, value), (parts, own) => {
      const selector = parseLabelSelector(parts.map(print).join(","));
      expect(selector(own)).toBe(parts.every((part) => holds(part, own)));
    }),
  );
});

test("any text is either a selector or refused with a SelectorError", () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(..."ab=!(),<> in/.-é") }), (text) => {
      try {
        parseLabelSelector(text)({ a: "b" });
      } catch (error) {
        expect(error).toBeInstanceOf(SelectorError);
      }
    }),
  );
});
