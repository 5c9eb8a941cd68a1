import { createHash } from "node:crypto";
import type { TreeLimits } from "#runtime/artifacts/limits.ts";
import { ArtifactInvalidError } from "#runtime/artifacts/store.ts";
import { walkTree } from "#runtime/artifacts/walk.ts";
import { type Files, isFilesError } from "#runtime/files/port.ts";

/** `sha256:...` of a regular file. */
export async function fileDigest(files: Files, path: string): Promise<string> {
  const file = await files.openFile(path);
  try {
    const hash = createHash("sha256");
    for await (const chunk of file.read()) hash.update(chunk);
    return `sha256:${hash.digest("hex")}`;
  } finally {
    await file.close();
  }
}

/** Whether two directories hold the same names and the same bytes. One that cannot be compared is not the same. */
export async function sameTree(files: Files, one: string, other: string, limits: TreeLimits): Promise<boolean> {
  try {
    const left = await walkTree(files, one, limits, one);
    const right = await walkTree(files, other, limits, other);
    const plain = (tree: typeof left) =>
      JSON.stringify(tree.map(({ path, type, info }) => [path, type, type === "File" && info.sizeBytes]));
    if (plain(left) !== plain(right)) return false;
    for (const { path, type } of left) {
      if (type === "Directory") continue;
      if ((await fileDigest(files, `${one}/${path}`)) !== (await fileDigest(files, `${other}/${path}`))) return false;
    }
    return true;
  } catch (error) {
    if (error instanceof ArtifactInvalidError || isFilesError(error)) return false;
    throw error;
  }
}
