import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { checkExist, checkRan, parseCoverage } from "./coverage.ts";
import { existingFile } from "./files.ts";

test("every rule names tests that exist", () => {
  const { rules, findings } = parseCoverage(readFileSync("docs/spec-coverage.md", "utf8"));
  expect([...findings, ...checkExist(rules, existingFile)]).toEqual([]);
  expect(rules.length).toBeGreaterThan(40);
});

const page = [
  "| rule | proved by |",
  "| --- | --- |",
  "| DS-1 it waits | `a.test.ts`: it waits for a Pod<br>`b.test.ts`: a … b |",
  "| DS-2 it ends | `a.test.ts`: it ends |",
].join("\n");

test("rows are read with their tests", () => {
  expect(parseCoverage(page)).toEqual({
    rules: [
      {
        id: "DS-1",
        line: 3,
        tests: [
          { file: "a.test.ts", title: "it waits for a Pod" },
          { file: "b.test.ts", title: "a … b" },
        ],
      },
      { id: "DS-2", line: 4, tests: [{ file: "a.test.ts", title: "it ends" }] },
    ],
    findings: [],
  });
});

test("groups of rules may have a letter", () => {
  expect(parseCoverage("| WA-C1 it waits | `a.test.ts`: it waits |").rules.map(({ id }) => id)).toEqual(["WA-C1"]);
});

test.each([
  ["a rule without a test", "| DS-1 it waits | |", '"" is not of the form `file`: title'],
  ["a test without a file", "| DS-1 it waits | it waits |", '"it waits" is not of the form `file`: title'],
  ["an id that stands twice", `${page}\n| DS-1 again | \`a.test.ts\`: it ends |`, "DS-1 stands twice"],
])("%s is found", (_, text, message) => {
  expect(parseCoverage(text).findings.map((finding) => finding.message)).toContain(message);
});

const { rules } = parseCoverage(page);

test("a file or a title that does not exist is found", () => {
  const read = (file: string) => (file === "a.test.ts" ? 'test("it waits for a Pod"' : undefined);
  expect(checkExist(rules, read).map(({ message }) => message)).toEqual([
    "DS-1: there is no file b.test.ts",
    'DS-2: a.test.ts has no test "it ends"',
  ]);
});

test("a test that did not run, or failed, is found; a title of a table stands for all of its cases", () => {
  const ran = [
    { file: "a.test.ts", title: "it waits for a Pod", passed: true },
    { file: "b.test.ts", title: "a 1 b", passed: true },
    { file: "b.test.ts", title: "a 2 b", passed: false },
  ];
  expect(checkRan(rules, ran).map(({ message }) => message)).toEqual([
    'DS-1: "a … b" of b.test.ts failed',
    'DS-2: "it ends" of a.test.ts did not run',
  ]);
});
