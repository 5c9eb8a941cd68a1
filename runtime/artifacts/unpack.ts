import { checkRelativePath } from "#api/paths.ts";
import { blameArtifact } from "#runtime/artifacts/errors.ts";
import { showBytes, type TreeLimits } from "#runtime/artifacts/limits.ts";
import { readTarGz, type TarEntry } from "#runtime/artifacts/read-tar.ts";
import { ArtifactInvalidError } from "#runtime/artifacts/store.ts";
import type { Files } from "#runtime/files/port.ts";

/** Files are readable by the Run's user and group only; executables may be executed by both. */
export const stagedFileMode = 0o640;
const executableMode = 0o750;
const directoryMode = 0o750;

/**
 * Unpacks a tar.gz into `directory`, which must exist and be empty. On an error the caller removes what is there.
 *
 * @throws ArtifactInvalidError for an unsafe, damaged or too large archive.
 */
export async function unpackTarGz(
  files: Files,
  bytes: AsyncIterable<Uint8Array>,
  directory: string,
  limits: TreeLimits,
): Promise<void> {
  const guard = new Guard(limits);
  await readTarGz(bytes, async (entry, content) => {
    guard.admit(entry);
    const path = `${directory}/${entry.path}`;
    if (entry.type === "Directory") {
      await blameArtifact(entry.path, () => files.makeDirectory(path, directoryMode));
      return;
    }
    const slash = entry.path.lastIndexOf("/");
    if (slash >= 0) {
      await blameArtifact(entry.path, () =>
        files.makeDirectory(`${directory}/${entry.path.slice(0, slash)}`, directoryMode),
      );
    }
    const mode = (entry.mode & 0o111) === 0 ? stagedFileMode : executableMode;
    const writer = await blameArtifact(entry.path, () => files.createFile(path, mode));
    try {
      for await (const chunk of content) await blameArtifact(entry.path, () => writer.write(chunk));
    } finally {
      await blameArtifact(entry.path, () => writer.close());
    }
  });
}

/** Admits entries one by one, from what their headers say, before anything is written for them. */
class Guard {
  readonly #limits: TreeLimits;
  readonly #seen = new Set<string>();
  #bytes = 0;

  constructor(limits: TreeLimits) {
    this.#limits = limits;
  }

  admit({ path, sizeBytes }: TarEntry): void {
    const violation = checkRelativePath(path);
    if (violation !== undefined)
      throw new ArtifactInvalidError(`the archive has an unsafe entry: ${violation.message}`);
    if (this.#seen.has(path)) throw new ArtifactInvalidError(`the archive has "${path}" twice`);
    this.#seen.add(path);
    if (this.#seen.size > this.#limits.entries) {
      throw new ArtifactInvalidError(`the archive has more than ${this.#limits.entries} entries`);
    }
    if (path.split("/").length > this.#limits.depth) {
      throw new ArtifactInvalidError(`"${path}" has more than ${this.#limits.depth} levels`);
    }
    this.#bytes += sizeBytes;
    if (this.#bytes > this.#limits.bytes) {
      throw new ArtifactInvalidError(`the archive unfolds to more than ${showBytes(this.#limits.bytes)}`);
    }
  }
}
