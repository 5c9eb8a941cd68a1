import { createHash } from "node:crypto";
import type { ArtifactRef } from "#api/kinds/artifact-ref.ts";
import { checkRelativePath } from "#api/paths.ts";
import type { TreeLimits } from "#runtime/artifacts/limits.ts";
import { fileDigest, sameTree } from "#runtime/artifacts/same-content.ts";
import { noteStaged, stagedBy } from "#runtime/artifacts/staged-record.ts";
import {
  ArtifactInvalidError,
  ArtifactMissingError,
  type ArtifactStore,
  StoreUnavailableError,
} from "#runtime/artifacts/store.ts";
import { abortable } from "#runtime/artifacts/streams.ts";
import { stagedFileMode, unpackTarGz } from "#runtime/artifacts/unpack.ts";
import type { RunLayout } from "#runtime/files/layout.ts";
import { type FileInfo, type Files, FilesError } from "#runtime/files/port.ts";

export interface ArtifactInput {
  readonly ref: ArtifactRef;
  /** Destination, relative to the working directory. */
  readonly path: string;
}

export interface StageRequest {
  readonly inputs: readonly ArtifactInput[];
  readonly layout: RunLayout;
  /**
   * Who stages: a destination that the same owner staged earlier is replaced. It is one text for all attempts of a step
   * (for a Run without a workflow its UID), and it is compared, not interpreted.
   */
  readonly owner: string;
  readonly limits: TreeLimits;
  readonly signal?: AbortSignal;
}

/** An input cannot be put in place; the message names it. The Run fails with reason ArtifactInputFailed, for good. */
export class ArtifactInputError extends Error {
  override readonly name = "ArtifactInputError";
}

/**
 * Puts the artifact inputs of a Run in place, in their order. Each is received and checked beside the working directory and
 * then renamed into it, so a Run never sees half an input. It can be called again after a store failed.
 *
 * @param store absent when the Runtime has none: then there must be no inputs.
 * @throws ArtifactInputError (final), StoreUnavailableError (try again), or the reason of the signal.
 */
export async function stageInputs(
  files: Files,
  store: ArtifactStore | undefined,
  request: StageRequest,
): Promise<void> {
  const taken = new Set<string>();
  for (const [index, input] of request.inputs.entries()) {
    const what = `spec.artifactInputs[${index}] ("${input.ref.name}" to "${input.path}")`;
    const incoming = `${request.layout.inputs}/${index}`;
    try {
      if (store === undefined) {
        throw new ArtifactInvalidError("the Runtime has no artifactStore; give it the one that the artifact is in");
      }
      if (taken.has(input.path))
        throw new ArtifactInvalidError("another input has the same path; choose a different one");
      taken.add(input.path);
      await stageOne(files, store, request, input, incoming);
    } catch (error) {
      throw inputError(what, error);
    } finally {
      await files.remove(incoming).catch(() => {}); // goes with the attempt's directory at the latest
    }
  }
}

async function stageOne(
  files: Files,
  store: ArtifactStore,
  { layout, owner, limits, signal }: StageRequest,
  { ref, path }: ArtifactInput,
  incoming: string,
): Promise<void> {
  const violation = checkRelativePath(path);
  if (violation !== undefined) throw new ArtifactInvalidError(`${violation.message}; ${violation.advice}`);
  const destination = `${layout.workingDirectory}/${path}`;
  const existing = await files.stat(destination);
  const ours = existing !== undefined && (await stagedBy(files, layout.staged, path, owner));
  if (existing !== undefined && !ours) {
    if (existing.kind !== ref.type) throw occupied(existing);
    if (ref.type === "File") {
      if (existing.sizeBytes === ref.sizeBytes && (await fileDigest(files, destination)) === ref.digest) return;
      throw occupied(existing);
    }
  }

  await files.remove(incoming);
  await files.makeDirectory(incoming);
  const received = `${incoming}/received`;
  await receive(files, store, ref, received, signal);
  const complete = ref.type === "File" ? received : `${incoming}/tree`;
  if (ref.type === "Directory") {
    await files.makeDirectory(complete, 0o750);
    await unpack(files, received, complete, limits, signal);
    if (existing !== undefined && !ours) {
      if (await sameTree(files, complete, destination, limits)) return;
      throw occupied(existing);
    }
  }

  await makeParent(files, destination, layout.workingDirectory);
  await noteStaged(files, layout.staged, path, owner); // before it is there: after a crash it is still known to be ours
  if (existing !== undefined) await files.rename(destination, `${incoming}/old`);
  await files.rename(complete, destination);
}

/** Receives the bytes of a reference into a new file and compares them with what the reference promises. */
async function receive(
  files: Files,
  store: ArtifactStore,
  ref: ArtifactRef,
  into: string,
  signal: AbortSignal | undefined,
): Promise<void> {
  const artifact = await store.open(ref);
  try {
    if (artifact.sizeBytes !== ref.sizeBytes) {
      throw new ArtifactInvalidError(
        `the stored artifact has ${artifact.sizeBytes} bytes, the reference says ${ref.sizeBytes}; it was replaced or damaged`,
      );
    }
    const writer = await files.createFile(into, stagedFileMode);
    const hash = createHash("sha256");
    let sizeBytes = 0;
    try {
      for await (const chunk of abortable(artifact.read(), signal)) {
        sizeBytes += chunk.length;
        if (sizeBytes > ref.sizeBytes) break;
        hash.update(chunk);
        await writer.write(chunk);
      }
    } finally {
      await writer.close();
    }
    if (sizeBytes < ref.sizeBytes) {
      throw new StoreUnavailableError(`the artifact store sent ${sizeBytes} of ${ref.sizeBytes} bytes`);
    }
    const digest = `sha256:${hash.digest("hex")}`;
    if (sizeBytes > ref.sizeBytes || digest !== ref.digest) {
      throw new ArtifactInvalidError(
        `the bytes have digest ${digest}, the reference says ${ref.digest}; do not use them`,
      );
    }
  } finally {
    await artifact.close();
  }
}

async function unpack(
  files: Files,
  archive: string,
  into: string,
  limits: TreeLimits,
  signal: AbortSignal | undefined,
): Promise<void> {
  const file = await files.openFile(archive);
  try {
    await unpackTarGz(files, abortable(file.read(), signal), into, limits);
  } finally {
    await file.close();
  }
}

async function makeParent(files: Files, destination: string, workingDirectory: string): Promise<void> {
  const parent = destination.slice(0, destination.lastIndexOf("/"));
  if (parent !== workingDirectory) await files.makeDirectory(parent);
}

function occupied({ kind }: FileInfo): ArtifactInvalidError {
  const what = kind === "Other" ? "something that is no file" : `a ${kind === "Symlink" ? "link" : kind.toLowerCase()}`;
  return new ArtifactInvalidError(
    `${what} with other content is there already; choose another path or remove it in an earlier step`,
  );
}

function inputError(what: string, error: unknown): unknown {
  const final =
    error instanceof ArtifactInvalidError || error instanceof ArtifactMissingError || error instanceof FilesError;
  if (final) return new ArtifactInputError(`${what}: ${error.message}`, { cause: error });
  if (error instanceof StoreUnavailableError) {
    return new StoreUnavailableError(`${what}: ${error.message}`, { cause: error });
  }
  return error;
}
