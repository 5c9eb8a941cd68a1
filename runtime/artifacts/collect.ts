import type { ArtifactRef } from "#api/kinds/artifact-ref.ts";
import { checkArtifactName } from "#api/paths.ts";
import { timestamp } from "#api/time.ts";
import { contentTypeOf } from "#runtime/artifacts/content-type.ts";
import { blameArtifact } from "#runtime/artifacts/errors.ts";
import { type ArtifactLimits, showBytes } from "#runtime/artifacts/limits.ts";
import { packDirectory } from "#runtime/artifacts/pack.ts";
import { ArtifactInvalidError, type ArtifactStore } from "#runtime/artifacts/store.ts";
import { plainKind, type TreeEntry, walkTree } from "#runtime/artifacts/walk.ts";
import { type Entry, type Files, isFilesError } from "#runtime/files/port.ts";

export interface CollectRequest {
  /** What KRUNTIME_ARTIFACTS_DIR named. */
  readonly directory: string;
  readonly runUid: string;
  /** Name of the Runtime, for messages. */
  readonly runtime: string;
  readonly limits: ArtifactLimits;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly signal?: AbortSignal;
}

interface Found {
  readonly name: string;
  readonly type: "File" | "Directory";
  readonly sizeBytes: number;
  /** Of a directory. */
  readonly tree: readonly TreeEntry[];
}

/**
 * Stores what a Run left in its artifacts directory and returns the references, ordered by name. Everything is checked
 * before the first byte is stored. It can be called again after a store failed.
 *
 * @param store absent when the Runtime has none: then the directory must be empty.
 * @throws ArtifactInvalidError when something there cannot be an artifact (reason ArtifactInvalid, final).
 * @throws StoreUnavailableError when the store failed; try again.
 */
export async function collectArtifacts(
  files: Files,
  store: ArtifactStore | undefined,
  request: CollectRequest,
): Promise<readonly ArtifactRef[]> {
  const { limits } = request;
  const entries = await childrenOf(files, request.directory, limits.artifacts);
  const first = entries[0];
  if (first === undefined) return [];
  if (store === undefined) {
    throw new ArtifactInvalidError(
      `Runtime ${request.runtime} has no artifactStore, so artifact "${first.name}" cannot be stored; give the Runtime one or leave KRUNTIME_ARTIFACTS_DIR empty`,
    );
  }
  const found: Found[] = [];
  for (const entry of entries) found.push(await examine(files, request, entry));
  checkFileSizes(found, limits);

  const refs: ArtifactRef[] = [];
  let left = limits.totalBytes;
  for (const artifact of found) {
    const ref = await storeOne(files, store, request, artifact, left);
    left -= ref.sizeBytes;
    refs.push(ref);
  }
  return refs;
}

async function childrenOf(files: Files, directory: string, maxArtifacts: number): Promise<readonly Entry[]> {
  try {
    return await files.list(directory, maxArtifacts);
  } catch (error) {
    if (isFilesError(error, "Missing")) return []; // the Run removed it: it has no artifacts
    if (isFilesError(error, "TooMany")) {
      throw new ArtifactInvalidError(`there are more than ${maxArtifacts} artifacts; put them into one directory`);
    }
    return await blameArtifact("KRUNTIME_ARTIFACTS_DIR", () => Promise.reject(error));
  }
}

async function examine(files: Files, request: CollectRequest, entry: Entry): Promise<Found> {
  const what = `artifact "${entry.name}"`;
  const type = plainKind(entry, what);
  const violation = checkArtifactName(entry.name);
  if (violation !== undefined) throw new ArtifactInvalidError(`artifact: ${violation.message}; ${violation.advice}`);
  const path = `${request.directory}/${entry.name}`;
  const tree = type === "Directory" ? await walkTree(files, path, request.limits.tree, what) : [];
  return { name: entry.name, type, sizeBytes: entry.sizeBytes, tree };
}

/** The sizes of files are known before anything is stored; those of packed directories only after. */
function checkFileSizes(found: readonly Found[], limits: ArtifactLimits): void {
  let total = 0;
  for (const { name, type, sizeBytes } of found) {
    if (type === "Directory") continue;
    if (sizeBytes > limits.artifactBytes) throw tooLarge(name, limits);
    total += sizeBytes;
  }
  if (total > limits.totalBytes) throw allTooLarge(limits);
}

async function storeOne(
  files: Files,
  store: ArtifactStore,
  { directory, runUid, limits, now, signal }: CollectRequest,
  { name, type, tree }: Found,
  left: number,
): Promise<ArtifactRef> {
  const path = `${directory}/${name}`;
  const what = `artifact "${name}"`;
  const bytes = type === "File" ? readFile(files, path, what) : packDirectory(files, path, tree, what);
  const maxBytes = Math.min(limits.artifactBytes, left);
  const counted = count(bytes, maxBytes, () =>
    left < limits.artifactBytes ? allTooLarge(limits) : tooLarge(name, limits),
  );
  const stored = await store.put({ runUid, name }, counted, { maxBytes, ...(signal && { signal }) });
  return {
    name,
    driver: store.driver,
    type,
    location: stored.location,
    sizeBytes: stored.sizeBytes,
    digest: stored.digest,
    contentType: contentTypeOf(name, type),
    createdAt: timestamp(now()),
  };
}

async function* readFile(files: Files, path: string, what: string): AsyncGenerator<Uint8Array> {
  const file = await blameArtifact(what, () => files.openFile(path));
  try {
    const content = file.read()[Symbol.asyncIterator]();
    for (;;) {
      const next = await blameArtifact(what, () => content.next());
      if (next.done) return;
      yield next.value;
    }
  } finally {
    await file.close();
  }
}

/** Stops at the limit with the message that fits; the store's own check is for callers without one. */
async function* count(
  bytes: AsyncIterable<Uint8Array>,
  maxBytes: number,
  error: () => Error,
): AsyncGenerator<Uint8Array> {
  let total = 0;
  for await (const chunk of bytes) {
    total += chunk.length;
    if (total > maxBytes) throw error();
    yield chunk;
  }
}

function tooLarge(name: string, limits: ArtifactLimits): ArtifactInvalidError {
  return new ArtifactInvalidError(`artifact "${name}" is larger than ${showBytes(limits.artifactBytes)}`);
}

function allTooLarge(limits: ArtifactLimits): ArtifactInvalidError {
  return new ArtifactInvalidError(`the artifacts are together larger than ${showBytes(limits.totalBytes)}`);
}
