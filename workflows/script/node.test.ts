import { expect, test } from "vitest";
import { expectPrinted, hostileText, refusals } from "../testing/programs.ts";

const same = (value: string) => value;
const print = (what: string) => `process.stdout.write(${what})`;

const places: Record<string, { script: string; want: (value: string) => string }> = {
  "a value is a string": { script: print("@"), want: same },
  "joined with text": { script: print(`"'v" + @ + '"//'`), want: (v) => `'v${v}"//` },
  "in a template": {
    script: print("`a '@' \\` \\${x} ${`b@` + (() => { return @ })()}`"),
    want: (v) => `a '${v}' \` \${x} b${v}${v}`,
  },
  "behind comments with quotes": { script: `// it's @\n/* "@ */ ${print("@")}`, want: same },
  "behind regular expressions with quotes": {
    script: `const a = /["'\`/]/.test("x") ? 1 : 4 / 2 / 1; if (/'/.test("a")) { }\n${print("a + @")}`,
    want: (v) => `2${v}`,
  },
  "behind divisions": { script: `const a = [8][0] / 2 + (4) / 2; ${print("a + @ + 'x/y'")}`, want: (v) => `6${v}x/y` },
};

test.each(Object.entries(places))("Node: %s", (_, { script, want }) =>
  expectPrinted("node", script, want, hostileText),
);

const refused: Record<string, { script: string; want: RegExp }> = {
  "in a string": { script: `console.log("v@")`, want: /inside a JavaScript string in quotes/ },
  "in a string with single quotes": { script: `console.log('v@')`, want: /inside a JavaScript string in quotes/ },
  "in a string inside a template": { script: "console.log(`${'@'}`)", want: /inside a JavaScript string in quotes/ },
  "in a regular expression": { script: `x.replace(/a[/]@/g, "")`, want: /inside a regular expression/ },
  "behind a backslash in a template": { script: "console.log(`\\@`)", want: /a backslash stands directly before/ },
  "behind a string that is not closed": { script: `f(@)\nx = 'a`, want: /^2:5: this string is not closed/ },
  "behind a template that is not closed": { script: "f(@)\nx = `a", want: /^2:5: this template is not closed/ },
  "behind a brace in a template that is not closed": {
    script: "f(@)\nx = `a${",
    want: /^2:5: this brace is not closed/,
  },
  "behind a regular expression that is not closed": {
    script: "f(@)\nx = /a",
    want: /^2:5: this regular expression is not closed/,
  },
};

test.each(Object.entries(refused))("refused in Node: %s", (_, { script, want }) => {
  expect(refusals("node", script)).toEqual([expect.stringMatching(want)]);
});
