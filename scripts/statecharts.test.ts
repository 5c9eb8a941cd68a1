import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createMachine } from "xstate";
import { type Reason, reasons } from "#api/reasons.ts";
import { lifecycles } from "#machines/index.ts";
import { describe } from "#machines/lib/describe.ts";
import { renderAll, testsOf } from "./statecharts.ts";

const root = join(import.meta.dirname, "..");
const files = renderAll();

test.each([...files])("%s is what the machines say (run npm run statecharts)", (path, text) => {
  expect(readFileSync(join(root, path), "utf8")).toBe(text);
});

test.each(lifecycles)("every test that the page of $name links to exists", (each) => {
  for (const [path] of testsOf(each)) expect(existsSync(join(root, path)), path).toBe(true);
});

test.each(lifecycles)(
  "the page of $name has diagram, writers, every reason with its meaning, and tests",
  ({ name, machine }) => {
    const page = files.get(`docs/statecharts/${name}.md`) ?? "";
    expect(page).toContain("```mermaid\nstateDiagram-v2");
    for (const heading of ["States", "Transitions", "Who moves what", "Reasons", "Tests"]) {
      expect(page).toContain(`\n## ${heading}\n`);
    }
    for (const reason of describe(machine).transitions.flatMap((transition) => transition.reasons)) {
      expect(page).toContain(`| \`${reason}\` | ${reasons[reason as Reason].meaning} |`);
    }
  },
);

test("a chart that changes makes its page stale", () => {
  const run = lifecycles.find(({ name }) => name === "run");
  if (run === undefined) throw new RangeError("run");
  const config = run.machine.config as { states: Record<string, { description?: string }> };
  const states = { ...config.states, Pending: { ...config.states.Pending, description: "Sleeps." } };
  const other = createMachine({ ...config, states } as Parameters<typeof createMachine>[0]).provide(
    run.machine.implementations as Parameters<typeof run.machine.provide>[0],
  );
  const changed = renderAll([{ ...run, machine: other }]).get("docs/statecharts/run.md");
  expect(changed).toContain("Sleeps.");
  expect(changed).not.toBe(files.get("docs/statecharts/run.md"));
});

test("no page is left of a chart that is gone", () => {
  const found = readdirSync(join(root, "docs/statecharts")).map((name) => `docs/statecharts/${name}`);
  expect(found.sort()).toEqual([...files.keys()].sort());
});
