import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { compileTemplate } from "./expressions/compile.ts";
import { actionScopes } from "./expressions/scopes.ts";
import { compileScript } from "./script/compile-script.ts";
import type { Language } from "./script/language.ts";

const page = readFileSync(new URL("../docs/expressions.md", import.meta.url), "utf8");

/** Pieces of the page that match, one by one. */
const pieces = (form: RegExp) => [...page.matchAll(form)].map(([, code = ""]) => code);

const scripts: [language: Language, code: string][] = [
  ...pieces(/```bash\n([\s\S]*?)```/g).map((code): [Language, string] => ["bash", code]),
  ...pieces(/`(print\(.*?\))`/g).map((code): [Language, string] => ["python", code]),
  ...pieces(/`` (console\.log\(.*?\)) ``/g).map((code): [Language, string] => ["node", code]),
];

test("every script of the page about expressions is accepted", () => {
  expect(scripts.map(([language]) => language)).toEqual(["bash", "bash", "bash", "python", "node"]);
  for (const [language, code] of scripts) {
    const { template, errors } = compileTemplate(code, actionScopes([], [{ name: "a" }], []).step(1, []).rest, "run");
    expect(errors).toEqual([]);
    expect(template.expressions.length).toBeGreaterThan(0);
    expect(compileScript(template, language, "run")).toMatchObject({ ok: true });
  }
});
