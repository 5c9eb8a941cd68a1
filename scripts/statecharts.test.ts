import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { renderAll } from "./statecharts.ts";

const root = join(import.meta.dirname, "..");
const files = renderAll();

test.each([...files])("%s is what the machines say (run npm run statecharts)", (path, text) => {
  expect(readFileSync(join(root, path), "utf8")).toBe(text);
});

test("no page is left of a chart that is gone", () => {
  const found = readdirSync(join(root, "docs/statecharts")).map((name) => `docs/statecharts/${name}`);
  expect(found.sort()).toEqual([...files.keys()].sort());
});
