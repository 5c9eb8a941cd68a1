/**
 * Writes everything in the repository that is generated: `npm run generate`. With `--check` it writes nothing and fails when a
 * file is stale, missing or no longer generated.
 */
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { renderChartCrds, renderCrds } from "./generate-crds.ts";
import { renderPolicies } from "./generate-policies.ts";
import { generatedProtoFiles } from "./generate-proto.ts";
import { renderReference } from "./generate-reference.ts";
import { renderAll as renderStatecharts } from "./statecharts.ts";

/** Texts by path from the root of the repository. */
export type Files = ReadonlyMap<string, string>;

/** A generator: the texts that it makes, and the folders that hold nothing but them. */
interface Generator {
  readonly render: () => Files | Promise<Files>;
  readonly folders: readonly string[];
}

const generators: readonly Generator[] = [
  { render: renderCrds, folders: ["crds"] },
  { render: renderChartCrds, folders: ["charts/kruntimes/generated/crds"] },
  { render: renderPolicies, folders: ["charts/kruntimes/generated/policies"] },
  { render: renderReference, folders: ["docs/reference"] },
  { render: renderStatecharts, folders: ["docs/statecharts"] },
  { render: generatedProtoFiles, folders: ["runtime/proto/gen"] },
];

/** Everything that is generated, freshly made. */
export async function renderAll(): Promise<Map<string, string>> {
  const files = new Map<string, string>();
  for (const { render } of generators) {
    for (const [path, text] of await render()) files.set(path, text);
  }
  return files;
}

/** How the repository differs from what would be generated now; a line for each difference. */
export async function staleFiles(root: string): Promise<string[]> {
  const files = await renderAll();
  const stale: string[] = [];
  for (const [path, text] of files) {
    const stored = await readFile(join(root, path), "utf8").catch(() => undefined);
    if (stored === undefined) stale.push(`${path} is missing`);
    else if (stored !== text) stale.push(`${path} is stale`);
  }
  for (const path of await strays(root, files)) stale.push(`${path} is no longer generated`);
  return stale;
}

/** Writes what differs, and deletes what is no longer generated. Answers the paths. */
export async function writeAll(root: string): Promise<string[]> {
  const files = await renderAll();
  const changed: string[] = [];
  for (const [path, text] of files) {
    const target = join(root, path);
    if ((await readFile(target, "utf8").catch(() => undefined)) === text) continue;
    await mkdir(dirname(target), { recursive: true });
    await writeFile(target, text);
    changed.push(path);
  }
  for (const path of await strays(root, files)) {
    await rm(join(root, path));
    changed.push(path);
  }
  return changed;
}

async function strays(root: string, files: Files): Promise<string[]> {
  const found: string[] = [];
  for (const folder of generators.flatMap((generator) => generator.folders)) {
    const entries = await readdir(join(root, folder), { withFileTypes: true, recursive: true }).catch(() => []);
    for (const entry of entries) {
      const path = join(entry.parentPath, entry.name).slice(join(root, "/").length);
      if (entry.isFile() && !files.has(path)) found.push(path);
    }
  }
  return found;
}

if (import.meta.main) {
  const root = join(import.meta.dirname, "..");
  if (process.argv.includes("--check")) {
    const stale = await staleFiles(root);
    for (const line of stale) console.error(line);
    if (stale.length > 0) console.error("Run `npm run generate` and commit the result.");
    process.exitCode = stale.length > 0 ? 1 : 0;
  } else {
    for (const path of await writeAll(root)) console.log(path);
  }
}
