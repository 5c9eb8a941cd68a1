import fc from "fast-check";
import { expect, test } from "vitest";
import { expandMatrix, instancesOf, maxInstances } from "./matrix.ts";

const valuesOf = (matrix: unknown) => {
  const result = expandMatrix("j", matrix);
  return result.ok ? result.instances.map(({ values }) => values) : result.message;
};

const fruit = { fruit: ["apple", "pear"], animal: ["cat", "dog"] };

const cases: Record<string, { matrix: unknown; want: unknown }> = {
  "the first key varies slowest": {
    matrix: { a: [1, 2], b: ["x", "y"] },
    want: [
      { a: 1, b: "x" },
      { a: 1, b: "y" },
      { a: 2, b: "x" },
      { a: 2, b: "y" },
    ],
  },
  "exclude takes away all that have its values": {
    matrix: { ...fruit, exclude: [{ fruit: "apple", animal: "cat" }, { animal: "dog" }] },
    want: [{ fruit: "pear", animal: "cat" }],
  },
  "exclude by a part of an object": {
    matrix: {
      on: [
        { name: "a", v: 1 },
        { name: "b", v: 1 },
      ],
      exclude: [{ on: { name: "a" } }],
    },
    want: [{ on: { name: "b", v: 1 } }],
  },
  // The example of GitHub's documentation.
  "include adds where it changes no value of the lists, and else makes a combination": {
    matrix: {
      ...fruit,
      include: [
        { color: "green" },
        { color: "pink", animal: "cat" },
        { fruit: "apple", shape: "circle" },
        { fruit: "banana" },
        { fruit: "banana", animal: "cat" },
      ],
    },
    want: [
      { fruit: "apple", animal: "cat", color: "pink", shape: "circle" },
      { fruit: "apple", animal: "dog", color: "green", shape: "circle" },
      { fruit: "pear", animal: "cat", color: "pink" },
      { fruit: "pear", animal: "dog", color: "green" },
      { fruit: "banana" },
      { fruit: "banana", animal: "cat" },
    ],
  },
  "include alone": { matrix: { include: [{ a: 1 }, { b: 2 }] }, want: [{ a: 1 }, { b: 2 }] },
  "include after everything was excluded": {
    matrix: { a: [1], exclude: [{ a: 1 }], include: [{ a: 2 }] },
    want: [{ a: 2 }],
  },
  "a key that every object has": { matrix: { constructor: [1] }, want: [{ constructor: 1 }] },
  "no map": { matrix: [1], want: "a matrix is a map of lists" },
  "a list that is none": { matrix: { a: 1 }, want: '"a" is no list' },
  "an empty list": { matrix: { a: [] }, want: '"a" has no values' },
  "an exclude that is no list": { matrix: { a: [1], exclude: { a: 1 } }, want: "exclude is no list" },
  "an include without members": {
    matrix: { a: [1], include: [{}] },
    want: "an item of include is a map with at least one member",
  },
  "an exclude of a key that is not there": {
    matrix: { a: [1], exclude: [{ b: 1 }] },
    want: "exclude names a key that the matrix does not have",
  },
  "nothing left": { matrix: { a: [1], exclude: [{ a: 1 }] }, want: "no combination is left" },
  "nothing at all": { matrix: {}, want: "no combination is left" },
  "more than 256": {
    matrix: { a: Array.from({ length: 17 }, (_, n) => n), b: Array.from({ length: 16 }, (_, n) => n) },
    want: "there are 272 combinations, more than 256",
  },
};

test.each(Object.entries(cases))("%s", (_, { matrix, want }) => {
  expect(valuesOf(matrix)).toEqual(want);
});

const tens = Array.from({ length: 10 }, (_, n) => n);

test("a matrix whose lists would multiply without end is refused before they do", () => {
  const matrix = Object.fromEntries(Array.from({ length: 60 }, (_, n) => [`k${n}`, tens]));
  expect(valuesOf(matrix)).toMatch(/^there are far too many combinations, more than 256/);
});

test("256 instances of ten keys take few milliseconds", () => {
  const matrix = {
    a: Array.from({ length: 256 }, (_, n) => n),
    include: Array.from({ length: 200 }, (_, n) => ({ a: n, [`i${n % 10}`]: n })),
  };
  const expand = () => {
    const before = process.threadCpuUsage();
    expect(expandMatrix("j", matrix)).toMatchObject({ ok: true });
    return process.threadCpuUsage(before).user / 1000;
  };
  expect(Math.min(...Array.from({ length: 5 }, expand))).toBeLessThan(50);
});

test("any value is a matrix of 1 to 256 instances, or a message", () => {
  const scalars = fc.oneof(fc.integer({ min: 0, max: 3 }), fc.constantFrom("a", "b"), fc.boolean(), fc.constant(null));
  const rows = fc.array(fc.dictionary(fc.constantFrom("a", "b", "c", "__proto__"), scalars, { maxKeys: 3 }), {
    maxLength: 4,
  });
  const matrices = fc.oneof(
    fc.jsonValue(),
    fc.record(
      {
        a: fc.array(scalars, { maxLength: 6 }),
        b: fc.array(fc.jsonValue(), { maxLength: 6 }),
        include: rows,
        exclude: rows,
      },
      { requiredKeys: [] },
    ),
  );
  fc.assert(
    fc.property(matrices, (matrix) => {
      const result = expandMatrix("job", matrix);
      if (!result.ok) return result.message.length > 0;
      const { instances } = result;
      const inOrder = instances.every(({ key, index }, n) => index === n && key === `job.${n}`);
      return inOrder && instances.length > 0 && instances.length <= maxInstances;
    }),
    { numRuns: 300 },
  );
});

test("a matrix that cannot be computed says why", () => {
  const value = { kind: "constant" as const, value: "x" };
  expect(instancesOf("j", { kind: "dynamic", value }, {})).toMatchObject({
    ok: false,
    message: "a matrix is a map of lists",
  });
});
