import assert from "node:assert/strict";
import { type Manifest, toManifest } from "#cli/manifests/manifest.ts";
import { parseManifests } from "#cli/manifests/parse.ts";
import type { Position } from "#cli/manifests/problem.ts";
import { exampleTexts } from "../examples.ts";
import { mutatedText } from "../mutate.ts";
import { defineTarget } from "../target.ts";

const tokens = [
  ..."&*?|>-:#{}[]'\"\t!%@",
  "\n---\n",
  "<<: *a\n",
  "&a ",
  "*a",
  "!!binary ",
  "!!set ",
  "? [a]: b\n",
  "kind: Pod\n",
  "metadata: ",
  "__proto__: ",
  "~",
  ".inf",
  "0o7",
  "1_000",
  "%YAML 1.1\n---\n",
  "\ufeff",
  "\u2028",
  "[".repeat(600),
  "- ".repeat(300),
  "'''",
  "é",
];
const paths = [
  "",
  "spec",
  "spec.jobs",
  "spec.jobs[build].steps[0].name",
  "metadata.name",
  "spec.jobs.build.steps[3].run",
  "a[",
  "[]",
];

export const manifestFiles = (parse: typeof parseManifests = parseManifests) =>
  defineTarget({
    name: "manifests",
    holds:
      "any text is objects or problems with a place inside it and a message; every field has a place inside it, too",
    sliceRuns: 120,
    outcomes: ["objects", "problems", "nothing"],
    inputs: mutatedText(exampleTexts, tokens),
    check(text) {
      const lines = text.split(/\r\n|\n|\r/).length;
      const isInside = ({ line, column }: Position) =>
        assert(
          line >= 1 && line <= lines + 1 && column >= 1 && column <= text.length + 1,
          `${line}:${column} of ${lines}`,
        );
      const { documents, problems } = parse("f.yaml", text);
      const found: Manifest[] = [];
      for (const document of documents) {
        const manifest = toManifest(document, undefined);
        if ("message" in manifest) problems.concat(manifest);
        else found.push(manifest);
        for (const path of paths)
          for (const place of [undefined, { line: 2, column: 3 }]) isInside(document.at(path, place));
        JSON.stringify(document.value);
      }
      for (const problem of problems) {
        isInside(problem);
        assert.match(problem.message, /\S/);
      }
      if (problems.length > 0) return "problems";
      return found.length > 0 ? "objects" : "nothing";
    },
  });
