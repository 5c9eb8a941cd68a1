import fc from "fast-check";
import { expect, test } from "vitest";
import { parseManifests } from "./parse.ts";
import { formatProblem } from "./problem.ts";

const documents: Record<string, { text: string; want: unknown[] }> = {
  "several documents": { text: "a: 1\n---\nb: 2\n", want: [{ a: 1 }, { b: 2 }] },
  "documents without content are left out": { text: "---\n# nothing\n---\n\n---\na: 1\n---\n~\n", want: [{ a: 1 }] },
  "an empty file": { text: "", want: [] },
  "only comments": { text: "# a\n# b\n", want: [] },
  "JSON is YAML": { text: '{"a": [1, "x", null, true]}', want: [{ a: [1, "x", null, true] }] },
  "a byte order mark": { text: "\ufeffa: 1", want: [{ a: 1 }] },
  "line ends of Windows": { text: "a: 1\r\nb: |\r\n  x\r\n  y\r\n", want: [{ a: 1, b: "x\ny\n" }] },
  "words for truth are read as kubectl reads them": {
    text: "a: yes\nb: off\nc: 'yes'\non: push\n",
    want: [{ a: true, b: false, c: "yes", true: "push" }],
  },
  "octal numbers are, too": { text: "mode: 0644\n", want: [{ mode: 420 }] },
  "dates and times stay text": {
    text: "a: 2026-01-02\nb: 12:30\nc: 1:30:15",
    want: [{ a: "2026-01-02", b: "12:30", c: "1:30:15" }],
  },
  "anchors and merged maps": { text: "a: &x {b: 1}\nc: {<<: *x, d: 2}\n", want: [{ a: { b: 1 }, c: { b: 1, d: 2 } }] },
};

test.each(Object.entries(documents))("%s", (_, { text, want }) => {
  const parsed = parseManifests("f.yaml", text);
  expect(parsed.problems).toEqual([]);
  expect(parsed.documents.map(({ value }) => value)).toEqual(want);
});

const problems: Record<string, { text: string; want: RegExp }> = {
  "a list that does not end": { text: "a: [1, 2\n", want: /^f\.yaml:2:1: flow sequence/ },
  "a key that stands twice": { text: "a: 1\nb: 2\na: 3\n", want: /^f\.yaml:3:1: map keys must be unique$/ },
  "keys that YAML reads as the same truth value": {
    text: "y: 1\non: 2\n",
    want: /^f\.yaml:2:1: map keys must be unique: without quotes YAML reads on as true or false$/,
  },
  "a wrong indentation": { text: "a:\n  b: 1\n c: 2\n", want: /^f\.yaml:3:/ },
  "a tab": { text: "a:\n\tb: 1\n", want: /^f\.yaml:2:1: tabs are not allowed as indentation$/ },
  "an alias to nothing": { text: "a: *nowhere\n", want: /^f\.yaml:1:4: there is no anchor &nowhere$/ },
  "a key that is a list": { text: "a:\n  [x, y]: z\n", want: /^f\.yaml:2:3: a key must be text$/ },
  "an alias to what holds it": {
    text: "a: &x\n  b: *x\n",
    want: /^f\.yaml:2:6: an alias cannot stand in its own anchor, &x$/,
  },
  "a number that JSON has not": { text: "a: 1\nb: .inf\n", want: /^f\.yaml:2:4: a number must be finite$/ },
  "a type that JSON has not": { text: "a: !!binary aGk=\n", want: /^f\.yaml:1:4: unresolved tag/ },
  "aliases that explode": {
    text: `a: &a [x,x,x,x,x,x,x,x,x]\n${"bcdefgh"
      .split("")
      .map((key, i) => `${key}: &${key} [${Array(9).fill(`*${"abcdefg"[i]}`).join(",")}]`)
      .join("\n")}\n`,
    want: /^f\.yaml:1:1: excessive alias count/,
  },
  "a problem in a later document": { text: "a: 1\n---\nb: {\n", want: /^f\.yaml:4:1: / },
};

test.each(Object.entries(problems))("%s", (_, { text, want }) => {
  expect(parseManifests("f.yaml", text).problems.map(formatProblem)).toEqual([expect.stringMatching(want)]);
});

test("a document that cannot be read does not hide the others", () => {
  const { documents: read, problems: found } = parseManifests("f.yaml", "a: 1\n---\nb: ]\n---\nc: 3\n");
  expect(read.map(({ value }) => value)).toEqual([{ a: 1 }, { c: 3 }]);
  expect(found).toHaveLength(1);
});

test("positions count from the start of the file in every document", () => {
  const { documents: read } = parseManifests("f.yaml", "a: 1\n---\nb:\n  c: 2\n");
  expect(read.map(({ at }) => at("b.c"))).toEqual([
    { line: 1, column: 1 },
    { line: 4, column: 3 },
  ]);
});

test("a text that is nested without end is a problem like any other", () => {
  for (const text of ["- ".repeat(20_000), `a: ${"[".repeat(20_000)}`, `${"[".repeat(20_000)}${"]".repeat(20_000)}`]) {
    const { documents: read, problems: found } = parseManifests("f.yaml", text);
    expect(read).toEqual([]);
    expect(found).toMatchObject([{ line: 1, message: expect.stringMatching(/./) }]);
  }
});

test("no text makes the reader throw, and every position is inside the text", () => {
  const pieces = fc.constantFrom(
    "a",
    ":",
    " ",
    "\n",
    "- ",
    "---\n",
    "[",
    "]",
    "{",
    "}",
    "&x ",
    "*x",
    "!!set ",
    '"',
    "|",
    "\t",
    "#",
    "? ",
    "é",
    "<<: ",
  );
  fc.assert(
    fc.property(fc.array(pieces, { maxLength: 30 }), (parts) => {
      const text = parts.join("");
      const lines = text.split("\n").length;
      for (const problem of parseManifests("f", text).problems) {
        expect(problem.line).toBeGreaterThanOrEqual(1);
        expect(problem.line).toBeLessThanOrEqual(lines);
        expect(problem.message).not.toBe("");
      }
    }),
    { numRuns: 500 },
  );
});
