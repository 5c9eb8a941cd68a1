import { expect } from "vitest";
import { compileTemplate, type Template } from "../expressions/compile.ts";
import { jobScopes } from "../expressions/scopes.ts";

/** Steps `a` and `b` came before, job `build` with output `tag` is needed, `later` comes later, `other` is not needed. */
export const scope = jobScopes({
  job: "deploy",
  jobs: ["build", "other", "deploy"],
  steps: [{ name: "a" }, { name: "b" }, { name: "later" }],
  needs: [{ id: "build", outputs: ["tag"] }],
  inputs: [],
  variables: [],
  matrix: undefined,
}).step(2, []).rest;

/** The text with `@` as `${{ steps.a.outputs.v }}` and `€` as `${{ steps.b.outputs.w }}`, compiled. */
export function templateOf(text: string): Template {
  const full = text
    .replaceAll("€", "$\u0000{ steps.b.outputs.w }}")
    .replaceAll("@", "$\u0000{ steps.a.outputs.v }}")
    .replaceAll("\u0000", "{");
  const { template, errors } = compileTemplate(full, scope, "run");
  expect(errors).toEqual([]);
  return template;
}
