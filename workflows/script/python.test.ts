import { expect, test } from "vitest";
import { expectPrinted, hostileText, refusals } from "../testing/programs.ts";

const same = (value: string) => value;

/** Python writes to a stream of bytes, so that line ends stay as they are. */
const print = (what: string) => `import sys; sys.stdout.buffer.write((${what}).encode())`;

const places: Record<string, { script: string; want: (value: string) => string }> = {
  "a value is a string": { script: print("@"), want: same },
  "joined with text": { script: print(`"'v" + @ + '"#'`), want: (v) => `'v${v}"#` },
  "as a key and an argument": {
    script: print(`{@: "x"}[@] + "%s" % @ + str(len(@))`),
    want: (v) => `x${v}${[...v].length}`,
  },
  "behind a comment with a quote": { script: `x = 1  # it's @\n${print("@")}`, want: same },
  "behind strings with quotes in them": {
    script: `a = "it's # \\" '" + '\\\\' + r"\\" r'\\''\n${print("@")}`.replace(
      `r"\\" r'\\''`,
      `r'\\"' + rb'\\"'.decode()`,
    ),
    want: same,
  },
  "behind strings of several lines": {
    script: `"""it's "quoted" \\"""\n"""\nb = f'''{"x"!r:>{3}} it's'''\n${print("@")}`,
    want: same,
  },
  "behind a formatted string": { script: `a = f"{{it's}} {'y'} {1:>{2}}"\n${print("@")}`, want: same },
  "behind a name that ends like a prefix": { script: `buf = 1; a = [buf]\n${print(`"f" + @`)}`, want: (v) => `f${v}` },
  "with a line to begin with": { script: `#!/usr/bin/env python3\n${print("@")}`, want: same },
};

test.each(Object.entries(places))("Python: %s", (_, { script, want }) =>
  expectPrinted("python", script, want, hostileText),
);

const refused: Record<string, string> = {
  "in a string": `print("v@")`,
  "in a string with single quotes": `print('v@')`,
  "in a raw string": `print(r'\\@')`,
  "in a string of several lines": `print("""\n"@""")`,
  "in the text of a formatted string": `print(f"v@")`,
  "in the code of a formatted string": `print(f"{'a' + @}")`,
};

test.each(Object.entries(refused))("refused in Python: %s", (_, script) => {
  expect(refusals("python", script)).toEqual([expect.stringMatching(/cannot stand inside a Python string/)]);
});

test("a string that is not closed is pointed at", () => {
  expect(refusals("python", `x = @\ny = "a\nz = 1`)).toEqual([
    expect.stringMatching(/^2:5: this string is not closed/),
  ]);
  expect(refusals("python", `x = @\ny = f"{a`)).toEqual([expect.stringMatching(/^2:5: this string is not closed/)]);
});
