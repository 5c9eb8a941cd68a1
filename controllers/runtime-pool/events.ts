import { findCondition } from "#api/conditions.ts";
import type { RuntimeStatus } from "#api/kinds/runtime.ts";
import type { Condition } from "#api/meta.ts";

export interface PoolEvent {
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly message: string;
}

/** What people should hear of a change of status: trouble and its end, the beginning and the end of a rollout. */
export function eventsOf(old: RuntimeStatus | undefined, status: RuntimeStatus): PoolEvent[] {
  const found: PoolEvent[] = [];
  const now = (type: string) => findCondition(status.conditions as readonly Condition[] | undefined, type);
  const before = (type: string) => findCondition(old?.conditions as readonly Condition[] | undefined, type);

  const trouble = now("Degraded");
  const troubleBefore = before("Degraded");
  if (trouble?.status === "True" && trouble.message !== troubleBefore?.message) {
    found.push({ type: "Warning", reason: trouble.reason, message: trouble.message });
  } else if (trouble?.status === "False" && troubleBefore?.status === "True") {
    found.push({ type: "Normal", reason: trouble.reason, message: trouble.message });
  }

  const rollout = now("Progressing");
  const rolloutBefore = before("Progressing");
  if (rollout !== undefined && rolloutBefore !== undefined && rollout.status !== rolloutBefore.status) {
    found.push({ type: "Normal", reason: rollout.reason, message: rollout.message });
  }
  return found;
}
