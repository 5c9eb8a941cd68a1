import { checkRelativePath } from "#api/paths.ts";
import { blameArtifact } from "#runtime/artifacts/errors.ts";
import { showBytes, type TreeLimits } from "#runtime/artifacts/limits.ts";
import { ArtifactInvalidError } from "#runtime/artifacts/store.ts";
import type { Entry, FileInfo, Files } from "#runtime/files/port.ts";

export interface TreeEntry {
  /** Path below the directory that was walked. */
  readonly path: string;
  readonly type: "File" | "Directory";
  readonly info: FileInfo;
}

/**
 * Everything below a directory, each directory before its content and names in the order of their bytes.
 *
 * @throws ArtifactInvalidError for anything but plain files and directories, for names that cannot be restored, and past a limit.
 */
export async function walkTree(
  files: Files,
  directory: string,
  limits: TreeLimits,
  what: string,
): Promise<readonly TreeEntry[]> {
  const found: TreeEntry[] = [];
  let bytes = 0;
  const walk = async (below: string, depth: number): Promise<void> => {
    if (depth > limits.depth) {
      throw new ArtifactInvalidError(`${what} has more than ${limits.depth} levels of directories`);
    }
    const path = below === "" ? directory : `${directory}/${below}`;
    for (const entry of await blameArtifact(what, () => files.list(path, limits.entries))) {
      const child = below === "" ? entry.name : `${below}/${entry.name}`;
      const type = plainKind(entry, `${what}: "${child}"`);
      const violation = checkRelativePath(child);
      if (violation !== undefined) {
        throw new ArtifactInvalidError(`${what}: ${violation.message}; ${violation.advice}`);
      }
      found.push({ path: child, type, info: entry });
      if (found.length > limits.entries) {
        throw new ArtifactInvalidError(`${what} has more than ${limits.entries} files and directories`);
      }
      if (type === "Directory") {
        await walk(child, depth + 1);
      } else {
        bytes += entry.sizeBytes;
        if (bytes > limits.bytes) {
          throw new ArtifactInvalidError(`${what} holds more than ${showBytes(limits.bytes)}`);
        }
      }
    }
  };
  await walk("", 1);
  return found;
}

/** The type of an entry that may be stored. Links are refused because they can point to what is not the Run's own. */
export function plainKind(entry: Entry, what: string): "File" | "Directory" {
  if (!entry.validName) throw new ArtifactInvalidError(`${what}: the name is not valid UTF-8; rename it`);
  switch (entry.kind) {
    case "Directory":
      return "Directory";
    case "File":
      if (entry.links > 1) {
        throw new ArtifactInvalidError(`${what} has hard links (${entry.links} names); store a copy of it instead`);
      }
      return "File";
    case "Symlink":
      throw new ArtifactInvalidError(`${what} is a symbolic link; store a copy of what it points to (cp -L)`);
    case "Other":
      throw new ArtifactInvalidError(`${what} is a device, pipe or socket; only files and directories can be stored`);
  }
}
