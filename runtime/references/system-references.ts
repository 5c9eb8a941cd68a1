/** {@link References} in mounted volumes. Adapter: touches the system. */
import { readdir, readFile, realpath, stat } from "node:fs/promises";
import { join } from "node:path";
import { referencePaths } from "#api/pod-layout.ts";
import type { ReferenceData, References } from "./port.ts";

/** What the kubelet names the directory of the values of now; it is a link that is replaced as a whole. */
const current = "..data";

/** So often a volume may be replaced while it is read. */
const tries = 5;

/** @param root directory with one directory for each kind, as {@link referencePaths} describes */
export function systemReferences(root: string): References {
  return {
    async read(kind, name) {
      const directory = join(root, referencePaths[kind], name);
      if (!(await isDirectory(directory))) return undefined;
      for (let n = 1; ; n++) {
        try {
          return await readAll(directory);
        } catch (error) {
          // The kubelet has just put the next values in place and removed these.
          if (!isMissing(error) || n === tries) throw error;
        }
      }
    },
  };
}

/** All files of one directory of values, so that two keys never come from different versions. */
async function readAll(directory: string): Promise<ReferenceData> {
  const link = join(directory, current);
  const values = await realpath(link).catch((error: unknown) => {
    if (isMissing(error)) return directory; // nothing was put there yet
    throw error;
  });
  const found = new Map<string, Uint8Array>();
  for (const entry of await readdir(values, { withFileTypes: true })) {
    if (entry.isFile()) found.set(entry.name, await readFile(join(values, entry.name)));
  }
  return found;
}

async function isDirectory(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory();
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
}

const isMissing = (error: unknown) => error instanceof Error && "code" in error && error.code === "ENOENT";
