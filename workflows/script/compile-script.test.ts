import { expect, test } from "vitest";
import { refusals, runSource } from "../testing/programs.ts";
import { templateOf } from "../testing/templates.ts";
import { compileScript, type ScriptOptions } from "./compile-script.ts";
import type { Language } from "./language.ts";

function sourceOf(text: string, language: Language, options: ScriptOptions = {}): string {
  const result = compileScript(templateOf(text), language, "run", options);
  return result.ok ? result.script.source : `refused: ${result.errors.map((error) => error.message).join()}`;
}

const sources: Record<string, { text: string; language: Language; options?: ScriptOptions; want: string }> = {
  "a script for bash ends at the first failure, on the line that is there": {
    text: "a\nb",
    language: "bash",
    want: "set -e; a\nb",
  },
  "a script for sh does so too": { text: "a", language: "sh", want: "set -e; a" },
  "where bash is asked for by name, a pipe fails with any of its commands": {
    text: "a | b",
    language: "bash",
    options: { shell: "bash" },
    want: "set -eo pipefail; a | b",
  },
  "sh knows no such pipes": { text: "a | b", language: "sh", options: { shell: "sh" }, want: "set -e; a | b" },
  "a #! line stays the first": { text: "#!/bin/bash -u\na", language: "bash", want: "#!/bin/bash -u\nset -e; a" },
  "a #! line alone stays alone": { text: "#!/bin/sh", language: "sh", want: "#!/bin/sh" },
  "Python is left as it is": { text: "a = 1", language: "python", want: "a = 1" },
  "a program that nobody knows gets the text without expressions as it is": { text: "a", language: "other", want: "a" },
  "an expression that stands twice is one variable": {
    text: "echo @ € @",
    language: "sh",
    want: `set -e; echo "\${KRT_EXPR_1}" "\${KRT_EXPR_2}" "\${KRT_EXPR_1}"`,
  },
  "the names of our variables are not the script's": {
    text: "KRT_EXPR_1=x; echo @",
    language: "sh",
    want: `set -e; KRT_EXPR_1=x; echo "\${KRT_EXPR2_1}"`,
  },
  "the names of our variables are not the step's": {
    text: "echo @",
    language: "sh",
    options: { taken: ["KRT_EXPR_9", "KRT_EXPR2_"] },
    want: `set -e; echo "\${KRT_EXPR3_1}"`,
  },
};

test.each(Object.entries(sources))("%s", (_, { text, language, options, want }) => {
  expect(sourceOf(text, language, options)).toBe(want);
});

test("a step fails with its first command that fails", () => {
  const source = sourceOf("printf a\nfalse\nprintf b", "bash");
  expect(runSource("bash", source, [""]).printed).toEqual(["aexit 1"]);
});

test.each([
  ["bash that is not asked for by name goes on behind a pipe that failed in the middle", undefined, "ab"],
  ["bash that is asked for by name does not", "bash", "aexit 1"],
] as const)("%s", (_, shell, want) => {
  const source = sourceOf("printf a\nfalse | true\nprintf b", "bash", { shell });
  expect(runSource("bash", source, [""]).printed).toEqual([want]);
});

test("a message of the shell has the line of the user's text", () => {
  const source = sourceOf("true\n\nno-such-command @", "bash");
  expect(runSource("bash", source, [""]).stderr).toMatch(/line 3: no-such-command/);
});

test("a program that nobody knows takes no expressions", () => {
  expect(refusals("other", "x\n @")).toEqual([
    expect.stringMatching(/^2:2: expressions cannot be used in this script/),
  ]);
});

test("a script that grows over the limit of a Run is refused", () => {
  expect(sourceOf(`${"#".repeat(262_130)}\n@`, "node")).toMatch(
    /refused: the script has \d+ characters with its variables/,
  );
});
