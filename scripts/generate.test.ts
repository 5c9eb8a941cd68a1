import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { parse } from "yaml";
import { parseRule } from "#api/crd/testing/rule-tokens.ts";
import { renderAll, staleFiles, writeAll } from "./generate.ts";

let root: string;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "generate-"));
});

afterEach(async () => {
  await rm(root, { recursive: true });
});

test("what is generated is fresh: run `npm run generate` when this fails", async () => {
  expect(await staleFiles(join(import.meta.dirname, ".."))).toEqual([]);
});

test("the same input gives the same text", async () => {
  expect(await renderAll()).toEqual(await renderAll());
});

test("missing, stale and left-over files are found and put right", async () => {
  const written = await writeAll(root);
  expect(written).toContain("crds/kruntimes.io_runs.yaml");
  expect(written).toContain("docs/reference/persistent-workspace.md");
  expect(await staleFiles(root)).toEqual([]);
  expect(await writeAll(root)).toEqual([]);

  await rm(join(root, "docs/reference/reasons.md"));
  await writeFile(join(root, "crds/kruntimes.io_runs.yaml"), "old");
  await mkdir(join(root, "crds/sub"));
  await writeFile(join(root, "crds/sub/extra.yaml"), "extra");
  const expected = ["crds/kruntimes.io_runs.yaml is stale", "docs/reference/reasons.md is missing"];
  expect((await staleFiles(root)).sort()).toEqual([
    expected[0],
    "crds/sub/extra.yaml is no longer generated",
    expected[1],
  ]);
  await writeAll(root);
  expect(await staleFiles(root)).toEqual([]);
});

test("keys that YAML 1.1 takes for truth values are quoted", async () => {
  await writeAll(root);
  const text = await readFile(join(root, "crds/kruntimes.io_workflows.yaml"), "utf8");
  const old: unknown = parse(text, { version: "1.1" });
  expect(old).toEqual(parse(text, { version: "1.2" }));
  expect(text).toContain('"on":');
});

test("every CEL rule, those of the statecharts included, keeps to the cheap operations", async () => {
  let rules = 0;
  const visit = (node: unknown): void => {
    if (typeof node !== "object" || node === null) return;
    const { rule, message } = node as { rule?: unknown; message?: unknown };
    if (typeof rule === "string" && message !== undefined) {
      expect(parseRule(rule).faults, rule).toEqual([]);
      rules += 1;
    }
    for (const member of Object.values(node)) visit(member);
  };
  for (const [path, text] of await renderAll()) if (path.startsWith("crds/")) visit(parse(text, { version: "1.1" }));
  expect(rules).toBeGreaterThan(40);
});

test("every page of a kind has its fields, rules and refusals", async () => {
  const files = await renderAll();
  const page = files.get("docs/reference/run.md") ?? "";
  expect(page).toContain("| `spec.runtime` * | string | 1 to 63 characters;");
  expect(page).toContain("| `spec.artifactInputs[].ref.digest` * |");
  expect(page).toContain("exactly one of task, function and session must be set");
  expect(page).toContain("| `spec.source.inlinePath` | not supported yet |");
  expect(page).toContain("| (Attempt) | `.status.attempt` |");
  expect(files.get("docs/reference/workflow.md")).toContain(
    "| `spec.jobs.*.steps[].run` | string | 1 to 262144 characters |",
  );
});
