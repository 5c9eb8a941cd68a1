import type { ArtifactRef } from "#api/kinds/artifact-ref.ts";

/** Durable storage for the artifacts of Runs, shared by the Pods that may exchange them. One contract, several drivers. */
export interface ArtifactStore {
  readonly driver: ArtifactRef["driver"];
  /**
   * Stores the bytes under the Run and the name; an artifact of that name is replaced at once or not at all. More than
   * `maxBytes` is an {@link ArtifactInvalidError}. An error of the source passes through unchanged.
   */
  put(target: ArtifactTarget, bytes: AsyncIterable<Uint8Array>, options: PutOptions): Promise<StoredArtifact>;
  /** Opens what a reference points to, after the reference was found to be of this store, cluster and namespace. */
  open(ref: ArtifactLocator): Promise<OpenedArtifact>;
  /** Size of what a reference points to, or `undefined` when it is not there. */
  stat(ref: ArtifactLocator): Promise<{ readonly sizeBytes: number } | undefined>;
  /** The Runs of this cluster and namespace that have anything stored; also those of nobody that have nothing but a place. */
  list(): AsyncIterable<StoredRun>;
  /** Removes everything of one Run of this cluster and namespace. Nothing there is not an error. */
  delete(runUid: string): Promise<void>;
}

/** The part of a reference that says where the bytes are. */
export type ArtifactLocator = Pick<ArtifactRef, "driver" | "location">;

export interface ArtifactTarget {
  readonly runUid: string;
  readonly name: string;
}

export interface PutOptions {
  readonly maxBytes: number;
  /** Aborting ends the upload with the signal's reason and leaves nothing behind. */
  readonly signal?: AbortSignal;
}

export interface StoredArtifact {
  readonly location: ArtifactRef["location"];
  readonly sizeBytes: number;
  /** `sha256:` and 64 hex digits, computed from the bytes that were stored. */
  readonly digest: string;
}

export interface OpenedArtifact {
  readonly sizeBytes: number;
  /** The bytes from `start` (default 0) up to but without `end` (default: all). */
  read(start?: number, end?: number): AsyncIterable<Uint8Array>;
  close(): Promise<void>;
}

export interface StoredRun {
  readonly runUid: string;
  /** Milliseconds since the epoch of the last change that the store knows of. */
  readonly modifiedAt: number;
}

/** Whose artifacts these are: written beside them, and compared before anything is read or removed. */
export interface StoreOwner {
  /** UID of Namespace kube-system; locally one for each state directory. */
  readonly clusterUid: string;
  readonly namespace: string;
}

/** The artifact or the reference is wrong, and will be at the next try too. Ends the Run (ArtifactInvalid, ArtifactInputFailed). */
export class ArtifactInvalidError extends Error {
  override readonly name = "ArtifactInvalidError";
}

/** The reference is right but nothing is stored there. Trying again does not help. */
export class ArtifactMissingError extends Error {
  override readonly name = "ArtifactMissingError";
}

/** The store did not do its work (down, disk full, connection lost). Try again with back-off. */
export class StoreUnavailableError extends Error {
  override readonly name = "StoreUnavailableError";
}
