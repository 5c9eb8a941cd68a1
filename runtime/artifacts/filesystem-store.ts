import { createHash } from "node:crypto";
import type { Random } from "#kube/ports.ts";
import { blameStore } from "#runtime/artifacts/errors.ts";
import { artifactPath, isRunUid, parseArtifactPath, runPath } from "#runtime/artifacts/location.ts";
import { encodeOwner, foreignError, isOwner, maxOwnerMarkerBytes, ownerMarkerName } from "#runtime/artifacts/owner.ts";
import {
  ArtifactInvalidError,
  type ArtifactLocator,
  ArtifactMissingError,
  type ArtifactStore,
  type ArtifactTarget,
  type OpenedArtifact,
  type PutOptions,
  type StoredArtifact,
  type StoredRun,
  type StoreOwner,
} from "#runtime/artifacts/store.ts";
import { abortable } from "#runtime/artifacts/streams.ts";
import { type Files, isFilesError } from "#runtime/files/port.ts";

export interface FilesystemStoreOptions {
  /** The volume of the store; its root is the root of the store. */
  readonly files: Files;
  readonly owner: StoreOwner;
  /** The PersistentVolumeClaim, recorded in references. Absent locally, where the store is a directory. */
  readonly volumeClaimName?: string;
  /** Names temporary files apart: Pods of several Runtimes may write to one volume. */
  readonly random: Random;
}

/** A claim that holds a million Runs is full for other reasons. */
const maxRuns = 1_000_000;

/** An {@link ArtifactStore} in a directory, usually a mounted claim. */
export function createFilesystemStore(options: FilesystemStoreOptions): ArtifactStore {
  return new FilesystemStore(options);
}

class FilesystemStore implements ArtifactStore {
  readonly driver = "Filesystem" as const;
  readonly #options: FilesystemStoreOptions;
  readonly #files: Files;

  constructor(options: FilesystemStoreOptions) {
    this.#options = options;
    this.#files = options.files;
  }

  /** Temporary file, sync, rename, sync of the directory: after a crash the artifact is there whole, or not at all. */
  async put(target: ArtifactTarget, bytes: AsyncIterable<Uint8Array>, options: PutOptions): Promise<StoredArtifact> {
    const path = artifactPath(target);
    const run = this.#path(runPath(target.runUid));
    options.signal?.throwIfAborted();
    await blameStore(() => this.#own(target.runUid));
    const temporary = `${run}/incoming-${this.#options.random.uuid()}`;
    try {
      const written = await this.#write(temporary, target, bytes, options);
      await blameStore(async () => {
        await this.#files.makeDirectory(`${run}/artifacts`);
        await this.#files.rename(temporary, this.#path(path));
        await this.#files.syncDirectory(`${run}/artifacts`);
        await this.#files.syncDirectory(run);
      });
      const { volumeClaimName } = this.#options;
      return { location: { filesystem: { path, ...(volumeClaimName && { volumeClaimName }) } }, ...written };
    } catch (error) {
      await this.#files.remove(temporary).catch(() => {}); // the first error is the one to report
      throw error;
    }
  }

  async #write(
    temporary: string,
    { name }: ArtifactTarget,
    bytes: AsyncIterable<Uint8Array>,
    { maxBytes, signal }: PutOptions,
  ): Promise<{ sizeBytes: number; digest: string }> {
    const hash = createHash("sha256");
    let sizeBytes = 0;
    const writer = await blameStore(() => this.#files.createFile(temporary, 0o640));
    try {
      for await (const chunk of abortable(bytes, signal)) {
        sizeBytes += chunk.length;
        if (sizeBytes > maxBytes) {
          throw new ArtifactInvalidError(`artifact "${name}" is larger than the ${maxBytes} bytes that are allowed`);
        }
        hash.update(chunk);
        await blameStore(() => writer.write(chunk));
      }
      await blameStore(() => writer.sync());
    } finally {
      await blameStore(() => writer.close());
    }
    return { sizeBytes, digest: `sha256:${hash.digest("hex")}` };
  }

  async open(ref: ArtifactLocator): Promise<OpenedArtifact> {
    const path = await this.#resolve(ref);
    const file = await this.#reading(path, () => this.#files.openFile(this.#path(path)));
    return {
      sizeBytes: file.info.sizeBytes,
      async *read(start, end) {
        const iterator = file.read(start, end)[Symbol.asyncIterator]();
        for (;;) {
          const next = await blameStore(() => iterator.next());
          if (next.done) return;
          yield next.value;
        }
      },
      close: () => blameStore(() => file.close()),
    };
  }

  async stat(ref: ArtifactLocator): Promise<{ readonly sizeBytes: number } | undefined> {
    try {
      const path = await this.#resolve(ref);
      const info = await blameStore(() => this.#files.stat(this.#path(path)));
      return info?.kind === "File" ? { sizeBytes: info.sizeBytes } : undefined;
    } catch (error) {
      if (error instanceof ArtifactMissingError) return undefined;
      throw error;
    }
  }

  async *list(): AsyncGenerator<StoredRun> {
    for (const entry of await blameStore(() => this.#entries(this.#path("runs")))) {
      if (entry.kind !== "Directory" || !isRunUid(entry.name)) continue;
      const marker = await blameStore(() => this.#marker(entry.name));
      const isOurs = marker === undefined ? await this.#isEmpty(entry.name) : isOwner(marker, this.#options.owner);
      if (!isOurs) continue;
      const artifacts = await blameStore(() => this.#files.stat(`${this.#path(runPath(entry.name))}/artifacts`));
      yield { runUid: entry.name, modifiedAt: Math.max(entry.modifiedAt, artifacts?.modifiedAt ?? 0) };
    }
  }

  async delete(runUid: string): Promise<void> {
    const run = this.#path(runPath(runUid));
    await blameStore(async () => {
      const marker = await this.#marker(runUid);
      if (marker === undefined) return this.#removeEmpty(runUid);
      if (!isOwner(marker, this.#options.owner)) throw foreignError(runUid);
      // The marker goes last, so that a crash half-way leaves something that the next sweep still finds to be ours.
      for (const { name } of await this.#entries(run)) {
        if (name !== ownerMarkerName) await this.#files.remove(`${run}/${name}`);
      }
      await this.#files.remove(run);
    });
  }

  /** Without a marker, and without anything else: left by an upload that ended before its first byte, or after a sweep. */
  async #isEmpty(runUid: string): Promise<boolean> {
    const run = this.#path(runPath(runUid));
    const entries = await blameStore(() => this.#entries(run));
    const below = entries.some(({ name }) => name === "artifacts")
      ? await blameStore(() => this.#files.list(`${run}/artifacts`, 1)).catch(() => entries)
      : [];
    return below.length === 0 && entries.every(({ name }) => name === "artifacts");
  }

  /** Removes the directories of a Run without a marker, unless they have anything: then nobody knows whose that is. */
  async #removeEmpty(runUid: string): Promise<void> {
    const run = this.#path(runPath(runUid));
    try {
      await this.#files.removeDirectory(`${run}/artifacts`);
      await this.#files.removeDirectory(run);
    } catch (error) {
      if (!isFilesError(error, "NotEmpty", "WrongKind", "Unsafe")) throw error;
    }
  }

  /** Makes the directory of a Run with its marker, or checks that it is ours. */
  async #own(runUid: string): Promise<void> {
    const run = this.#path(runPath(runUid));
    const marker = await this.#marker(runUid);
    if (marker === undefined) {
      await this.#files.makeDirectory(run);
      await this.#files.writeFile(`${run}/${ownerMarkerName}`, Buffer.from(encodeOwner(this.#options.owner)));
      await this.#files.syncDirectory(run);
      await this.#files.syncDirectory(this.#path("runs"));
    } else if (!isOwner(marker, this.#options.owner)) {
      throw foreignError(runUid);
    }
  }

  /** The path of a reference below the root, after it was found to be of this store, cluster and namespace. */
  async #resolve({ driver, location }: ArtifactLocator): Promise<string> {
    const filesystem = location.filesystem;
    if (driver !== this.driver || filesystem === undefined) {
      throw new ArtifactInvalidError(
        `the artifact is in a store with driver ${driver}, this Runtime has ${this.driver}; give both Runtimes the same artifactStore`,
      );
    }
    const { volumeClaimName } = this.#options;
    if (filesystem.volumeClaimName !== volumeClaimName) {
      throw new ArtifactInvalidError(
        `the artifact is on claim ${filesystem.volumeClaimName ?? "(none)"}, this Runtime has ${volumeClaimName ?? "(none)"}; give both Runtimes the same artifactStore`,
      );
    }
    const { runUid } = parseArtifactPath(filesystem.path);
    const marker = await this.#reading(filesystem.path, () => this.#marker(runUid));
    if (marker === undefined) throw missing(filesystem.path);
    if (!isOwner(marker, this.#options.owner)) throw foreignError(runUid);
    return filesystem.path;
  }

  async #marker(runUid: string): Promise<string | undefined> {
    try {
      const path = `${this.#path(runPath(runUid))}/${ownerMarkerName}`;
      return Buffer.from(await this.#files.readFile(path, maxOwnerMarkerBytes)).toString();
    } catch (error) {
      if (isFilesError(error, "Missing")) return undefined;
      throw error;
    }
  }

  async #entries(path: string) {
    try {
      return await this.#files.list(path, maxRuns);
    } catch (error) {
      if (isFilesError(error, "Missing")) return [];
      throw error;
    }
  }

  async #reading<T>(path: string, call: () => Promise<T>): Promise<T> {
    try {
      return await call();
    } catch (error) {
      if (isFilesError(error, "Missing")) throw missing(path);
      return await blameStore(() => Promise.reject(error));
    }
  }

  #path(below: string): string {
    return `${this.#files.root}/${below}`;
  }
}

function missing(path: string): ArtifactMissingError {
  return new ArtifactMissingError(`nothing is stored at ${path}; the producing Run may have been cleaned up`);
}
