import fc from "fast-check";
import { expect, test } from "vitest";
import { compileCel } from "./compile.ts";
import { CelCompileError, CelError } from "./errors.ts";
import {
  bool,
  type CelType,
  double,
  dyn,
  int,
  listOf,
  mapOf,
  type ObjectType,
  optionalOf,
  string,
  timestampType,
} from "./types.ts";
import { Optional } from "./values.ts";

const inner: ObjectType = {
  kind: "object",
  name: "object",
  fields: new Map([["name", { type: string, property: "name" }]]),
};

const self: ObjectType = {
  kind: "object",
  name: "object",
  fields: new Map<string, { type: CelType; property: string }>([
    ["phase", { type: string, property: "phase" }],
    ["count", { type: int, property: "count" }],
    ["ratio", { type: double, property: "ratio" }],
    ["on", { type: bool, property: "on" }],
    ["missing", { type: string, property: "missing" }],
    ["empty", { type: string, property: "empty" }],
    ["runs__dash__on", { type: string, property: "runs-on" }],
    ["__namespace__", { type: string, property: "namespace" }],
    ["items", { type: listOf(inner), property: "items" }],
    ["numbers", { type: listOf(int), property: "numbers" }],
    ["set", { type: listOf(string, true), property: "set" }],
    ["labels", { type: mapOf(string, string), property: "labels" }],
    ["port", { type: dyn, property: "port" }],
    ["time", { type: timestampType, property: "time" }],
    ["later", { type: timestampType, property: "later" }],
  ]),
};

const value = {
  phase: "Running",
  count: 7,
  ratio: 1.5,
  on: true,
  empty: null,
  "runs-on": "bash",
  namespace: "default",
  items: [{ name: "a" }, { name: "b" }],
  numbers: [1, 2, 3],
  set: ["x", "y"],
  labels: { a: "1", "b.c/d": "2" },
  port: 80,
  time: "2026-01-01T00:00:00.5Z",
  later: "2026-01-01T01:00:00.500000+01:00",
};

const variables = { self, oldSelf: optionalOf(self) };
const run = (source: string, old: unknown = undefined): unknown =>
  compileCel(source, variables).run([value, new Optional(old)]);

const results: Record<string, unknown> = {
  // literals
  "1": 1,
  "-1": -1,
  "0x1F": 31,
  "1.5": 1.5,
  "1e3": 1000,
  ".5": 0.5,
  "'a\\n\\x41\\u00e9\\101'": "a\nAéA",
  '"it\'s"': "it's",
  "r'a\\n'": "a\\n",
  "'''a\nb'''": "a\nb",
  "[1, 2, 3,]": [1, 2, 3],
  "{'a': 1}.a": 1,
  null: null,
  "true // a comment": true,
  // selection
  "self.phase": "Running",
  "self.runs__dash__on": "bash",
  "self.__namespace__": "default",
  "self.items[1].name": "b",
  "self.labels['b.c/d']": "2",
  "self.labels.a": "1",
  "has(self.phase)": true,
  "has(self.missing)": false,
  "has(self.empty)": true,
  "has(self.labels.a)": true,
  "has(self.labels.z)": false,
  "self.empty == null": true,
  // arithmetic
  "1 + 2 * 3 - 4": 3,
  "(1 + 2) * 3": 9,
  "7 / 2": 3,
  "-7 / 2": -3,
  "7 % 3": 1,
  "-7 % 3": -1,
  "7.0 / 2.0": 3.5,
  "'a' + 'b'": "ab",
  "[1] + [2]": [1, 2],
  "self.count + 1": 8,
  "- -1": 1,
  // comparison
  "1 < 2 && 2 <= 2 && 3 > 2 && 3 >= 3": true,
  "'a' < 'b'": true,
  "1 < 1.5": true,
  "self.ratio > self.count": false,
  "self.phase == 'Running'": true,
  "self.phase != 'Running'": false,
  "[1, 2] == [1, 2]": true,
  "[1, 2] == [2, 1]": false,
  "{'a': 1, 'b': 2} == {'b': 2, 'a': 1}": true,
  "self.set == ['y', 'x']": true,
  "self.set == ['y', 'z']": false,
  "self.items[0] == self.items[0]": true,
  "self.items[0] == self.items[1]": false,
  "self.port == 80": true,
  "self.port == 'http'": false,
  "self.time == self.later": true,
  "self.time < self.later": false,
  // logic
  "!self.on": false,
  "true || false && false": true,
  "self.on ? 'yes' : 'no'": "yes",
  "false ? 1 : true ? 2 : 3": 2,
  "self.missing == 'x' || true": true,
  "true || self.missing == 'x'": true,
  "self.missing == 'x' && false": false,
  "false && self.missing == 'x'": false,
  // containers
  "'x' in ['x', 'y']": true,
  "4 in self.numbers": false,
  "'a' in self.labels": true,
  "'z' in self.labels": false,
  "1 in {1: 'a'}": true,
  "'Running' in {'Pending': ['Running']}['Pending']": true,
  "size('héllo')": 5,
  "'héllo'.size()": 5,
  "size(self.items)": 2,
  "self.labels.size()": 2,
  "size({})": 0,
  // strings
  "self.phase.startsWith('Run')": true,
  "self.phase.endsWith('ing')": true,
  "self.phase.contains('nn')": true,
  "self.phase.matches('^R.*g$')": true,
  "self.phase.matches('nn')": true,
  "self.phase.matches('^n')": false,
  "'n=' + string(self.count)": "n=7",
  "int('12') + 1": 13,
  "int(1.9)": 1,
  "double(self.count) / 2.0": 3.5,
  // macros
  "self.items.all(i, i.name != '')": true,
  "self.items.exists(i, i.name == 'b')": true,
  "self.items.exists_one(i, i.name == 'b')": true,
  "self.numbers.exists_one(n, n > 1)": false,
  "self.items.map(i, i.name)": ["a", "b"],
  "self.numbers.map(n, n > 1, n * 2)": [4, 6],
  "self.numbers.filter(n, n != 2)": [1, 3],
  "self.labels.all(k, self.labels[k] != '')": true,
  "self.labels.exists(k, k == 'a')": true,
  "[].all(x, false)": true,
  "[].exists(x, true)": false,
  "self.numbers.all(a, self.numbers.exists(b, a == b))": true,
  "self.numbers.all(n, 1 / (n - 1) > 0 || true)": true,
  "self.numbers.exists(n, 6 / (n - 1) == 3)": true,
  "self.numbers.all(n, 6 / (n - 1) > 100)": false,
  "self.numbers.map(self, self + 1)": [2, 3, 4],
  // optionals
  "oldSelf.hasValue()": false,
  "oldSelf.hasValue() ? oldSelf.value().phase : 'none'": "none",
};

test.each(Object.entries(results))("%s", (source, want) => {
  expect(run(source)).toEqual(want);
});

test("an optional that is there gives its value", () => {
  const old = { phase: "Pending", count: 1 };
  expect(run("oldSelf.hasValue() && oldSelf.value().phase == 'Pending'", old)).toBe(true);
  expect(run("oldSelf.value().count + 1 == self.count", old)).toBe(false);
  expect(run("oldSelf.orValue(self).count", old)).toBe(1);
  expect(run("oldSelf.orValue(self).count")).toBe(7);
});

const failures: Record<string, string> = {
  "self.missing == 'x'": "no such key: missing",
  "self.labels['z']": "no such key: z",
  "self.labels.z": "no such key: z",
  "{'a': 1}['b']": "no such key: b",
  "self.numbers[3]": "index out of bounds: 3",
  "self.numbers[-1]": "index out of bounds: -1",
  "1 / 0": "division by zero",
  "1 % 0": "modulus by zero",
  "9007199254740991 + 1": "integer overflow",
  "self.missing == 'x' || false": "no such key: missing",
  "true && self.missing == 'x'": "no such key: missing",
  "oldSelf.value().phase": "optional.none() dereference",
  "self.numbers.all(n, 1 / (n - 1) >= 0)": "division by zero",
  "self.numbers.exists_one(n, 1 / (n - 1) > 0)": "division by zero",
  "int('x')": "type conversion error",
  "self.port < 'a'": "no such overload",
  "self.empty.startsWith('a')": "no such overload",
};

test.each(Object.entries(failures))("%s fails when it runs", (source, message) => {
  const program = compileCel(source, variables);
  expect(() => program.run([value, new Optional(undefined)])).toThrow(CelError);
  expect(() => program.run([value, new Optional(undefined)])).toThrow(message);
});

const refused: Record<string, string> = {
  "": "1:1: syntax error: unexpected end of expression",
  "1 +": "1:4: syntax error: unexpected end of expression",
  "(1": "expected ')'",
  "1 2": "syntax error: unexpected 2",
  "self.": "expected a field name",
  "'abc": "unterminated string",
  "'\\q'": "unknown escape",
  "a @ b": 'unexpected character "@"',
  "1u": "unsigned integers are not supported",
  "9007199254740993": "beyond 2^53",
  "b'x'": "bytes literals are not supported",
  "self.?phase": "optional selection (.?) is not supported",
  "self.items[?0]": "optional indexing ([?]) is not supported",
  "self{}": "message literals are not supported",
  "foo == 1": "1:1: undeclared reference to 'foo'",
  "self.nope": "undefined field 'nope'",
  "self.phase.nope": "type 'string' does not support field selection",
  "has(self)": "has() takes one field selection",
  "for == 1": "'for' is a reserved word",
  "self.phase == 1": "found no matching overload for '_==_' applied to '(string, int)'",
  "self.count == 1.5": "found no matching overload for '_==_' applied to '(int, double)'",
  "self.count + 'a'": "found no matching overload for '_+_' applied to '(int, string)'",
  "1.5 % 2.0": "found no matching overload for '_%_'",
  "self.on < 1": "found no matching overload for '_<_'",
  "1 in self.labels": "found no matching overload for '@in'",
  "'a' in 'abc'": "found no matching overload for '@in'",
  "self.items['a']": "found no matching overload for '_[_]'",
  "!self.phase": "found no matching overload for '!_'",
  "-self.phase": "found no matching overload for '-_'",
  "self.phase && true": "expected type 'bool' but found 'string'",
  "self.on ? 1 : 'a'": "found no matching overload for '_?_:_'",
  "[1, 'a']": "expected type 'int' but found 'string'",
  "{'a': 1, 'b': 'c'}": "expected type 'int' but found 'string'",
  "{1.5: 'a'}": "unsupported key type 'double'",
  "duration('1h')": "undeclared reference to 'duration': the functions supported here are",
  "self.phase.lowerAscii()": "undeclared reference to 'lowerAscii'",
  "self.phase.startsWith(1)": "found no matching overload for 'startsWith' applied to 'string.(int)'",
  "self.phase.matches('(')": "error parsing regexp",
  "self.phase.matches('a(?=b)')": "invalid or unsupported Perl syntax",
  "self.phase.value()": "found no matching overload for 'value'",
  "self.phase.all(c, true)": "cannot be range of a comprehension",
  "self.items.all(i)": "takes a variable and one expression",
  "self.items.all(i.name, true)": "must be a simple name",
  "self.items.all(i, i.name)": "needs a condition of type bool",
  "self.items.all(i, i.nope == '')": "undefined field 'nope'",
  "oldSelf.phase": "type 'optional_type(object)' does not support field selection",
  "self.phase ==\n  self.nope": "2:7: undefined field 'nope'",
};

test.each(Object.entries(refused))("%j is refused when it is loaded", (source, message) => {
  expect(() => compileCel(source, variables)).toThrow(CelCompileError);
  expect(() => compileCel(source, variables)).toThrow(message);
});

test("which variables an expression reads is known", () => {
  expect([...compileCel("self.on", variables).uses]).toEqual(["self"]);
  expect(compileCel("self.on || oldSelf.hasValue()", variables).uses.has("oldSelf")).toBe(true);
  expect(compileCel("[1].all(oldSelf, oldSelf == 1)", variables).uses.has("oldSelf")).toBe(true);
});

test("nesting is bounded", () => {
  expect(() => compileCel(`${"(".repeat(5000)}1${")".repeat(5000)}`, variables)).toThrow("nested deeper than 250");
  expect(() => compileCel(`${"!".repeat(5000)}true`, variables)).toThrow("nested deeper than 250");
  expect(compileCel(`${"(".repeat(200)}1${")".repeat(200)}`, variables).run([value, undefined])).toBe(1);
});

test("any text is either an expression or refused with a CelCompileError", () => {
  const words = fc.constantFrom(
    "self",
    "self.phase",
    "self.items",
    "oldSelf",
    ".",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ",",
    "?",
    ":",
    "+",
    "-",
    "==",
    "&&",
    "||",
    "!",
    "in",
    "1",
    "'a'",
    "has",
    "all",
    "i",
    "size",
    "null",
    "true",
  );
  const text = fc.oneof(
    fc.array(words, { maxLength: 12 }).map((parts) => parts.join(" ")),
    fc.string({ maxLength: 30 }),
  );
  fc.assert(
    fc.property(text, (source) => {
      try {
        compileCel(source, variables).run([value, new Optional(undefined)]);
      } catch (error) {
        expect(error instanceof CelCompileError || error instanceof CelError).toBe(true);
      }
    }),
    { numRuns: 500 },
  );
});

interface Sample {
  readonly text: string;
  /** undefined stands for an error. */
  readonly value: boolean | undefined;
}

/** Conditions with their values by the truth tables of the language, errors included. */
const condition: fc.Arbitrary<Sample> = fc.letrec<{ sample: Sample }>((tie) => ({
  sample: fc.oneof(
    { maxDepth: 5 },
    fc.constantFrom<Sample>(
      { text: "true", value: true },
      { text: "false", value: false },
      { text: "1/0 == 1", value: undefined },
    ),
    tie("sample").map(({ text, value }) => ({ text: `!(${text})`, value: value === undefined ? undefined : !value })),
    fc.tuple(tie("sample"), tie("sample")).map(([a, b]) => ({
      text: `(${a.text}) && (${b.text})`,
      value:
        a.value === false || b.value === false
          ? false
          : a.value === undefined || b.value === undefined
            ? undefined
            : true,
    })),
    fc.tuple(tie("sample"), tie("sample")).map(([a, b]) => ({
      text: `(${a.text}) || (${b.text})`,
      value:
        a.value === true || b.value === true
          ? true
          : a.value === undefined || b.value === undefined
            ? undefined
            : false,
    })),
    fc.tuple(tie("sample"), tie("sample"), tie("sample")).map(([a, b, c]) => ({
      text: `(${a.text}) ? (${b.text}) : (${c.text})`,
      value: a.value === undefined ? undefined : a.value ? b.value : c.value,
    })),
  ),
})).sample;

test("logic follows the truth tables, errors included", () => {
  fc.assert(
    fc.property(condition, ({ text, value: want }) => {
      const program = compileCel(text, {});
      if (want === undefined) expect(() => program.run([])).toThrow(CelError);
      else expect(program.run([])).toBe(want);
    }),
    { numRuns: 300 },
  );
});

interface Sum {
  readonly text: string;
  readonly value: number;
  /** How tightly the outermost operator binds: 1 sum, 2 product, 3 atom. */
  readonly level: number;
}

const sum: fc.Arbitrary<Sum> = fc.letrec<{ sum: Sum }>((tie) => ({
  sum: fc.oneof(
    { maxDepth: 4 },
    fc.nat(9).map((number) => ({ text: String(number), value: number, level: 3 })),
    fc.tuple(fc.constantFrom("+", "-", "*"), tie("sum"), tie("sum")).map(([operator, a, b]) => {
      const level = operator === "*" ? 2 : 1;
      const left = a.level < level ? `(${a.text})` : a.text;
      const right = b.level <= level ? `(${b.text})` : b.text; // left-associative
      const value = operator === "+" ? a.value + b.value : operator === "-" ? a.value - b.value : a.value * b.value;
      return { text: `${left}${operator}${right}`, value, level };
    }),
  ),
})).sum;

test("operators bind and associate as written with the fewest parentheses", () => {
  fc.assert(
    fc.property(sum, ({ text, value: want }) => {
      expect(compileCel(text, {}).run([])).toBe(want === 0 ? 0 : want);
    }),
  );
});

test("a literal table is built once, not in every run", () => {
  const program = compileCel("{'a': ['b', 'c']}", {});
  expect(program.run([])).toBe(program.run([]));
});
