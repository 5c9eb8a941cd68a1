import type { JobStatus, StepStatus } from "#api/kinds/workflow-run.ts";
import { hasEnded } from "#api/workflow-phases.ts";
import { isBad } from "#machines/derive.ts";
import type { Condition } from "#workflows/expressions/compile.ts";
import { type Asked, evaluateCondition } from "#workflows/expressions/evaluate.ts";
import type { Progress } from "#workflows/expressions/functions.ts";
import type { Flag, JobPlan } from "#workflows/plan.ts";
import { memberOf, resultOf } from "#workflows/values.ts";
import type { Jobs } from "./job-context.ts";
import type { Values } from "./step-place.ts";

/** How the jobs before a job went: all that it waits for, directly and by others, as on GitHub. */
export function progressOfNeeds({ ancestors }: JobPlan, jobs: Jobs, isEnding: boolean): Progress {
  const results = ancestors.map((id) => {
    const status = memberOf(jobs, id);
    return status && resultOf(status);
  });
  return {
    success: results.every((result) => result === "success") && !isEnding,
    failure: results.includes("failure"),
    cancelled: isEnding,
  };
}

/** How the steps of a chain went so far. */
export function progressOfSteps(steps: readonly StepStatus[]): Progress {
  const isFailed = steps.some(isBad);
  return { success: !isFailed, failure: isFailed, cancelled: false };
}

/** The job, among those that a job waits for, by which `success()` does not hold. */
export function unsuccessful({ needs, ancestors }: JobPlan, jobs: Jobs): [id: string, status: JobStatus] | undefined {
  for (const id of new Set([...needs, ...ancestors])) {
    const status = memberOf(jobs, id);
    if (status !== undefined && hasEnded(status.phase) && resultOf(status) !== "success") return [id, status];
  }
  return undefined;
}

/** Whether an `if` holds; without one, `success()` decides. */
export function asks(condition: Condition | undefined, values: () => Values, progress: Progress): Asked {
  if (condition === undefined || (!condition.asksStatus && !progress.success)) {
    return { ok: true, holds: progress.success };
  }
  const known = values();
  return known.ok ? evaluateCondition(condition, known.values, progress) : known;
}

/** Whether `continue-on-error` holds. One that has no value does not. */
export function holds(flag: Flag, values: () => Values): boolean {
  if (typeof flag === "boolean") return flag;
  const known = values();
  const asked = known.ok ? evaluateCondition(flag, known.values) : known;
  return asked.ok && asked.holds;
}

/** What is said of a job or step whose `if` does not hold. */
export function notMet(condition: Condition | undefined): string {
  return `its if does not hold: ${condition?.expression.source.trim() ?? "success()"}`;
}
