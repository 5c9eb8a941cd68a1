const mebibyte = 1024 * 1024;
const gibibyte = 1024 * mebibyte;

/** What a directory artifact may unfold to. The same limits hold when it is packed, so what was stored can be staged. */
export interface TreeLimits {
  /** Files and directories. */
  readonly entries: number;
  /** Bytes of all files together. */
  readonly bytes: number;
  /** Levels of directories. */
  readonly depth: number;
}

export interface ArtifactLimits {
  /** Artifacts of one Run. */
  readonly artifacts: number;
  /** Bytes of one artifact as it is stored (a directory compressed). */
  readonly artifactBytes: number;
  /** Bytes of all artifacts of one Run as they are stored. */
  readonly totalBytes: number;
  readonly tree: TreeLimits;
}

/** The defaults of the design; the tree limits are ours: room for any honest build output, an end for a bomb. */
export const defaultArtifactLimits: ArtifactLimits = {
  artifacts: 32,
  artifactBytes: gibibyte,
  totalBytes: 10 * gibibyte,
  tree: { entries: 100_000, bytes: 10 * gibibyte, depth: 100 },
};

/** A number of bytes for people: `1 GiB`, `10 MiB`, `77 bytes`. */
export function showBytes(bytes: number): string {
  if (bytes >= gibibyte && bytes % gibibyte === 0) return `${bytes / gibibyte} GiB`;
  if (bytes >= mebibyte && bytes % mebibyte === 0) return `${bytes / mebibyte} MiB`;
  return `${bytes} bytes`;
}
