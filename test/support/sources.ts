import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

const root = join(import.meta.dirname, "../..");
const comment = /\/\*[\s\S]*?\*\/|(?<![:"'`])\/\/.*$/gm;

/** The programs of a folder without their tests and comments, by path from the root of the repository. */
export async function sourcesOf(folder: string): Promise<ReadonlyMap<string, string>> {
  const files = await readdir(join(root, folder), { recursive: true });
  const sources = files.filter((file) => file.endsWith(".ts") && !/\.test\.ts$|(^|\/)testing\//.test(file)).sort();
  const texts = await Promise.all(sources.map((file) => readFile(join(root, folder, file), "utf8")));
  return new Map(sources.map((file, index) => [`${folder}/${file}`, (texts[index] ?? "").replace(comment, "")]));
}
