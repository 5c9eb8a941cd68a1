/** What the guides say: that it fits together, and to what the commands and examples have. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { exitCodeMeanings } from "#cli/exit-codes.ts";
import { root } from "./support/krt.ts";

/** Codes and meanings of the table in a guide. */
function exitCodesOf(markdown: string) {
  return [...markdown.matchAll(/^\| (\d+) +\| (.+?) +\|$/gm)].map(([, code, meaning]) => [
    Number(code),
    meaning?.replaceAll("`", ""),
  ]);
}

test("the guides tell the exit codes as the command does", async () => {
  const all = exitCodeMeanings.map((row) => [...row]);
  expect(exitCodesOf(await readFile(join(root, "docs/krt.md"), "utf8"))).toEqual(all);
  const first = exitCodesOf(await readFile(join(root, "docs/quick-start.md"), "utf8"));
  expect(first.length).toBeGreaterThan(4);
  expect(all).toEqual(expect.arrayContaining(first));
});

test("whoever reads of shared workspaces is warned: in the guides, by kubectl explain, and when the chart is installed", async () => {
  const places = [
    "docs/workspaces.md",
    "docs/concepts.md",
    "crds/kruntimes.io_persistentworkspaces.yaml",
    "crds/kruntimes.io_runs.yaml",
    "charts/kruntimes/templates/NOTES.txt",
  ];
  for (const place of places) {
    const text = (await readFile(join(root, place), "utf8")).replace(/\s+/g, " ");
    expect(text, place).toMatch(
      /workspace[^.]* (is no isolation between hostile users|.*trust each other: .*no isolation between hostile users)/,
    );
  }
});

test("every manifest in the guide to workspaces stands in an example, which is tested", async () => {
  const files = await readdir(join(root, "examples"), { recursive: true });
  const manifests = files.filter((file) => file.endsWith(".yaml"));
  const texts = await Promise.all(manifests.map((file) => readFile(join(root, "examples", file), "utf8")));
  const guide = await readFile(join(root, "docs/workspaces.md"), "utf8");
  const blocks = [...guide.matchAll(/^```yaml\n([\s\S]*?)^```$/gm)].map(([, block = ""]) => block);
  expect(blocks.length).toBeGreaterThan(5);
  expect(blocks.filter((block) => !texts.some((text) => text.includes(block)))).toEqual([]);
});
