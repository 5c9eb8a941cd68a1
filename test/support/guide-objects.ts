import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { parseAllDocuments } from "yaml";
import type { KubeObject } from "#api/meta.ts";

/** The objects that the blocks of YAML of a guide in docs/ show, in their order; what is only a part of one is as it stands there. */
export async function objectsOfGuide(name: string): Promise<(KubeObject & { spec?: object })[]> {
  const guide = await readFile(join(import.meta.dirname, "../../docs", name), "utf8");
  const blocks = [...guide.matchAll(/^```yaml\n([\s\S]*?)^```$/gm)].map(([, block = ""]) => block);
  return blocks.flatMap((block) => parseAllDocuments(block).map((document) => document.toJS() as KubeObject));
}
