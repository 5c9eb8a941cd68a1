import type { JobStatus, WorkflowRunStatus } from "#api/kinds/workflow-run.ts";
import { parseTime } from "#api/time.ts";
import { planOf } from "#workflows/matrix.ts";
import { stepsOf } from "#workflows/plan.ts";
import { cleanupDeadline } from "./cleanup.ts";
import { actionDeadline } from "./observe-action.ts";
import { gateDeadline } from "./observe-gate.ts";
import { jobDeadline } from "./observe-job.ts";
import { timeoutDeadline } from "./observe-run.ts";
import { sightingDelayMs } from "./observe-step.ts";
import type { Seen } from "./seen.ts";

/** When something is due by the clock, in milliseconds since the epoch: timeouts, next attempts, children to be written down. */
export function deadlines(seen: Seen, status: WorkflowRunStatus, now: number): number[] {
  const times: (number | undefined)[] = [timeoutDeadline(seen, status)];
  for (const [id, job] of Object.entries(status.jobs ?? {})) times.push(...jobTimes(seen, id, job, now));
  for (const found of [...seen.runs.values(), ...seen.children.values()]) {
    const since = found.kind === "ours" ? seen.sightings.get(found.object.metadata.uid ?? "") : undefined;
    if (since !== undefined && since + sightingDelayMs > now) times.push(since + sightingDelayMs);
  }
  return times.filter((time) => time !== undefined);
}

function jobTimes({ source }: Seen, id: string, job: JobStatus, now: number): (number | undefined)[] {
  // One that is due waits for a place, or for a Resume: the clock has nothing more to say. Nor has it once a job may not clean up any
  // longer, and waits for its steps to end.
  const next = job.phase === "Queued" ? parseTime(job.nextAttemptTime) : cleanupDeadline(job);
  if (next !== undefined && next > now) return [next];
  const plan = source.kind === "plan" && source.compiled.ok ? planOf(source.compiled.plan, id) : undefined;
  if (plan === undefined || (job.phase !== "Running" && job.phase !== "Suspended")) return [];
  const steps = stepsOf(plan).map((step, index) => {
    const stepStatus = job.steps?.[index];
    return stepStatus && (gateDeadline(stepStatus) ?? actionDeadline(step, stepStatus));
  });
  return [jobDeadline(plan, job), ...steps];
}
