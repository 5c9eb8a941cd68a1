import type { Condition } from "./meta.ts";
import type { Reason } from "./reasons.ts";
import { clip, maxConditionMessageLength } from "./text.ts";
import { timestamp } from "./time.ts";

/** What a condition says; its transition time follows from what it said before. */
export interface ConditionState {
  readonly type: string;
  readonly status: Condition["status"];
  readonly reason: Reason;
  readonly message: string;
  readonly observedGeneration?: number;
}

/** The condition of that type. */
export function findCondition(conditions: readonly Condition[] | undefined, type: string): Condition | undefined {
  return conditions?.find((condition) => condition.type === type);
}

/** Whether the condition of that type is there with status True. */
export function isTrue(conditions: readonly Condition[] | undefined, type: string): boolean {
  return findCondition(conditions, type)?.status === "True";
}

/**
 * The conditions with `given` in them. `lastTransitionTime` becomes `now` (milliseconds since the epoch) only when the status
 * changes. When nothing changes at all, the very list that came in is returned, so that no status write follows.
 */
export function setCondition(
  conditions: readonly Condition[] | undefined,
  given: ConditionState,
  now: number,
): readonly Condition[] {
  const list = conditions ?? [];
  const state = { ...given, message: clip(given.message, maxConditionMessageLength) };
  const old = findCondition(list, state.type);
  if (old === undefined) return [...list, { ...state, lastTransitionTime: timestamp(now) }];
  const same =
    old.status === state.status &&
    old.reason === state.reason &&
    old.message === state.message &&
    old.observedGeneration === state.observedGeneration;
  if (same) return list;
  const lastTransitionTime = old.status === state.status ? old.lastTransitionTime : timestamp(now);
  return list.map((condition) => (condition === old ? { ...state, lastTransitionTime } : condition));
}

/** The conditions without that type; the very list that came in when it has none. */
export function removeCondition(conditions: readonly Condition[] | undefined, type: string): readonly Condition[] {
  const list = conditions ?? [];
  return findCondition(list, type) === undefined ? list : list.filter((condition) => condition.type !== type);
}
