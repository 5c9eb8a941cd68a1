import { globSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseAllDocuments } from "yaml";
import type { KubeObject } from "#api/meta.ts";

const root = fileURLToPath(new URL("../../examples/", import.meta.url));

/** The texts of all manifests of examples/. */
export const exampleTexts: readonly string[] = globSync("**/*.yaml", { cwd: root })
  .sort()
  .map((name) => readFileSync(`${root}${name}`, "utf8"));

/** The objects in them. */
export const exampleObjects: readonly (KubeObject & { readonly kind: string; readonly spec?: unknown })[] =
  exampleTexts.flatMap((text) =>
    [...(parseAllDocuments(text) as { toJS(): unknown }[])].map(
      (document) => document.toJS() as (typeof exampleObjects)[number],
    ),
  );
