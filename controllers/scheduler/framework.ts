import type { WaitingReason } from "#api/reasons.ts";
import type { Slot } from "./slot.ts";
import type { Snapshot } from "./snapshot.ts";
import type { Workload } from "./workload.ts";

/** Why a Pod is refused. */
export interface Refusal {
  readonly reason: WaitingReason;
  /** A short phrase about one Pod without its name ("full", "not ready"): equal phrases are counted together. */
  readonly message: string;
  /** It would be refused by the Pod when empty, too. */
  readonly lasting?: true;
  /** It is refused because of the labels of the Run. */
  readonly byLabels?: true;
}

/** `undefined`: nothing speaks against the Pod. */
export type Verdict = Refusal | undefined;

/** One rule about one Pod. Pure; looks at the snapshot, the Run and the Pod, and at nothing else. */
export interface Filter {
  readonly name: string;
  readonly filter: (run: Workload, pod: Slot, snapshot: Snapshot) => Verdict;
}

/** How well a Pod that passed all filters suits a Run. */
export interface Score {
  readonly name: string;
  /** How much one point counts against the points of other scores. */
  readonly weight: number;
  /** From 0 (worst) to 1 (best), continuous: a small difference is a small difference. */
  readonly score: (run: Workload, pod: Slot, snapshot: Snapshot) => number;
}

/** Ordered lists: the first filter that refuses a Pod gives the reason, so the rule that time heals least comes first. */
export interface Plugins {
  readonly filters: readonly Filter[];
  readonly scores: readonly Score[];
}
