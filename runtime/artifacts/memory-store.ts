import type { Random } from "#kube/ports.ts";
import { createFilesystemStore } from "#runtime/artifacts/filesystem-store.ts";
import type { ArtifactStore, StoreOwner } from "#runtime/artifacts/store.ts";
import { MemoryFiles } from "#runtime/files/memory-files.ts";

export interface MemoryStoreOptions {
  readonly owner: StoreOwner;
  readonly random: Random;
  readonly now: () => number;
  readonly volumeClaimName?: string;
  /** Bytes that fit, then the disk is full. Default: no limit. */
  readonly capacityBytes?: number;
}

/**
 * A store for the simulation: the filesystem driver on a volume in memory. Several stores (of several Pods or namespaces)
 * share a volume by giving the same `files`.
 */
export function createMemoryStore(options: MemoryStoreOptions, files = memoryVolume(options)): ArtifactStore {
  const { owner, random, volumeClaimName } = options;
  return createFilesystemStore({ files, owner, random, ...(volumeClaimName !== undefined && { volumeClaimName }) });
}

/** The volume of a {@link createMemoryStore}. */
export function memoryVolume({ now, capacityBytes }: Pick<MemoryStoreOptions, "now" | "capacityBytes">): MemoryFiles {
  return new MemoryFiles({ root: "/artifacts", now, ...(capacityBytes !== undefined && { capacityBytes }) });
}
