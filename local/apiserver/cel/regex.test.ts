import { expect, test } from "vitest";
import { compileRegex } from "./regex.ts";

const matching: [pattern: string, text: string, want: boolean][] = [
  ["^[a-z]+$", "abc", true],
  ["^[a-z]+$", "aBc", false],
  ["(?i)^abc$", "ABC", true],
  ["\\Aabc\\z", "abc", true],
  ["\\Aabc\\z", "xabc", false],
  ["^(?P<year>\\d{4})$", "2026", true],
  ["^.$", "😀", true],
  ["^[\\w\\-\\_]+$", "a-b_c", true],
  ["[(?=]", "?", true],
  ["\\(\\?=", "(?=", true],
];

test.each(matching)("%s on %j: %s", (pattern, text, want) => {
  expect(compileRegex(pattern).test(text)).toBe(want);
});

test.each(["a(?=b)", "a(?!b)", "(?<=a)b", "(?<!a)b", "(a)\\1", "(", "[a"])(
  "%s is refused as RE2 refuses it",
  (pattern) => {
    expect(() => compileRegex(pattern)).toThrow("error parsing regexp");
  },
);
