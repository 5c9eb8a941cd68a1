import type { AnyMachineSnapshot } from "xstate";
import type { ArtifactRef } from "#api/kinds/artifact-ref.ts";

/**
 * Sample events of a chart: every event type has at least one, every guard outcome of the chart is reached by some.
 * A type without a sample does not compile.
 */
export type Samples<E extends { readonly type: string }> = {
  readonly [T in E["type"]]: readonly Extract<E, { readonly type: T }>[];
};

/** What is needed to walk a chart. */
export interface Walk {
  readonly samples: Readonly<Record<string, readonly { readonly type: string }[]>>;
  /** Snapshots that cannot be reached in a few events, such as a counter at its bound. */
  readonly starts?: readonly AnyMachineSnapshot[];
  /** What tells two snapshots apart for the walk. Without it, counters and times would make every one a new one. */
  essence(snapshot: AnyMachineSnapshot): unknown;
}

/** Milliseconds since the epoch, `seconds` after a fixed instant that has microseconds. */
export function at(seconds: number): number {
  return 1_751_803_200_000.123 + seconds * 1000;
}

/** A counter as the guards see it: none, some, at its bound. */
export function bucket(value: number | undefined, bound: number): "none" | "some" | "full" {
  if ((value ?? 0) === 0) return "none";
  return (value ?? 0) >= bound ? "full" : "some";
}

/** An artifact of the Run of that uid. */
export function artifact(name: string, runUID: string): ArtifactRef {
  return {
    name,
    driver: "Filesystem",
    type: "File",
    location: { filesystem: { path: `runs/${runUID}/artifacts/${name}` } },
    sizeBytes: 4,
    digest: `sha256:${"0123456789abcdef".repeat(4)}`,
  };
}
