import { parseDuration } from "./duration.ts";
import type { RuntimeSpec } from "./kinds/runtime.ts";
import { type Amounts, wholeNumbers } from "./quantity.ts";

/** What a Runtime's spec means after defaults. */

/** Runs that one Pod holds when the Runtime does not say. */
export const defaultRuns = 2;

/** Longest time that a Pod being replaced keeps its work when the Runtime does not say: five minutes. */
export const defaultDrainMs = 300_000;

/**
 * Logical capacity of each Pod: what the spec lists, and `runs: 2` unless it says otherwise. `undefined` when an amount is
 * no whole number (admission refuses it).
 */
export function capacityOf(spec: Pick<RuntimeSpec, "capacity">): Amounts | undefined {
  return wholeNumbers({ runs: defaultRuns, ...spec.capacity?.resources });
}

/** Warm Pods of the pool. */
export function replicasOf(spec: Pick<RuntimeSpec, "replicas">): number {
  return spec.replicas ?? 1;
}

/** Longest time in milliseconds that a Pod being replaced keeps its work. */
export function drainTimeoutOf(spec: Pick<RuntimeSpec, "drain">): number {
  return parseDuration(spec.drain?.timeout) ?? defaultDrainMs;
}
