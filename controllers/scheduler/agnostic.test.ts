import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";

test("the scheduler knows of no workflow and of no rights: it places Runs, whoever has made them", async () => {
  const files = await readdir(import.meta.dirname, { recursive: true });
  const sources = files.filter((file) => file.endsWith(".ts") && !file.endsWith(".test.ts"));
  expect(sources.length).toBeGreaterThan(20);
  for (const file of sources) {
    const text = await readFile(join(import.meta.dirname, file), "utf8");
    expect(text, file).not.toMatch(/workflow|accessreview|ownerreferences.*workflowrun/i);
  }
});
