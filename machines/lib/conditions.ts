import type { Condition } from "#api/meta.ts";
import type { Reason } from "#api/reasons.ts";
import { timestamp } from "./time.ts";

/** What a condition says, before it is stamped. */
export interface Says {
  readonly type: string;
  readonly status: Condition["status"];
  readonly reason: Reason;
  readonly message: string;
}

/**
 * The list with this condition in it. `lastTransitionTime` moves only when the status does (metav1.Condition); a list
 * that says the same already is returned as it is.
 * @param now milliseconds since the epoch.
 */
export function setCondition(list: readonly Condition[] | undefined, says: Says, now: number): Condition[] {
  const old = list?.find((each) => each.type === says.type);
  if (list !== undefined && old !== undefined && saysSame(old, says)) return list as Condition[];
  const lastTransitionTime = old?.status === says.status ? old.lastTransitionTime : timestamp(now);
  return [...(list ?? []).filter((each) => each.type !== says.type), { ...says, lastTransitionTime }];
}

/** Whether the list holds the condition with the same status, reason and message. */
export function hasCondition(list: readonly Condition[] | undefined, says: Says): boolean {
  const old = list?.find((each) => each.type === says.type);
  return old !== undefined && saysSame(old, says);
}

/** The list without the condition; `undefined` when nothing is left, so that the field can be dropped. */
export function removeCondition(list: readonly Condition[] | undefined, type: string): Condition[] | undefined {
  const rest = (list ?? []).filter((each) => each.type !== type);
  return rest.length === 0 ? undefined : rest;
}

function saysSame(old: Condition, says: Says): boolean {
  return old.status === says.status && old.reason === says.reason && old.message === says.message;
}
