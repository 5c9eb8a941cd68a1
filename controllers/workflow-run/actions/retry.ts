import type { WorkflowAction } from "#api/kinds/workflow-action.ts";
import type { JobStatus } from "#api/kinds/workflow-run.ts";
import { reopen } from "#machines/job-status.ts";
import { step } from "#machines/lib/settle.ts";
import { workflowRunMachine } from "#machines/workflow-run.ts";
import { instanceKey } from "#workflows/matrix.ts";
import { parseNodeFieldSelector } from "#workflows/node-field-selector.ts";
import { missingArtifact, type Rerun, retrySet } from "#workflows/retry-set.ts";
import { memberOf } from "#workflows/values.ts";
import { type ApplyContext, refuse, type Verdict } from "./verdict.ts";

type Jobs = Record<string, JobStatus>;

/** Retry: a run that has ended goes on with a new attempt of every job that has something left to do. */
export function retry(action: WorkflowAction, context: ApplyContext): Verdict {
  const { run, plan, snapshot: before, runUids, now } = context;
  const { name } = run.metadata;
  if (!before.hasTag("terminal")) {
    return refuse("WorkflowNotCompleted", `WorkflowRun ${name} has not ended: wait for its end, or stop it first`);
  }
  const { nodeFieldSelector = "", restartSuccessful = false } = action.spec.retry ?? {};
  if (before.value === "Succeeded" && !(restartSuccessful && nodeFieldSelector !== "")) {
    const message = `WorkflowRun ${name} has succeeded: to run jobs again set restartSuccessful and nodeFieldSelector`;
    return refuse("NothingToRetry", message);
  }
  const { jobs } = before.context.status;
  if (plan === undefined || jobs === undefined) {
    return refuse("NothingToRetry", `WorkflowRun ${name} never began: create a new one`);
  }
  const parsed = nodeFieldSelector === "" ? undefined : parseNodeFieldSelector(nodeFieldSelector);
  if (parsed?.ok === false) return refuse("InvalidNodeFieldSelector", parsed.message);
  const set = retrySet(plan, jobs, { ...(parsed && { selector: parsed.selector }), restartSuccessful });
  if (set.size === 0) return refuse("NothingToRetry", `no job of WorkflowRun ${name} would be repeated`);
  const missing = missingArtifact(plan, jobs, set, runUids);
  if (missing !== undefined) return refuse("ArtifactMissing", missing);
  const next: Jobs = { ...jobs };
  for (const [id, rerun] of set) reopenJob(next, id, rerun);
  const { suspend, shutdown } = run.spec;
  const event = { type: "RETRY", jobs: next, ...(suspend && { suspend }), ...(shutdown && { shutdown }), now } as const;
  const { snapshot } = step(workflowRunMachine, before, event);
  const count = [...set.values()].reduce((sum, rerun) => sum + (rerun === "all" ? 1 : rerun.length), 0);
  return { outcome: "Succeeded", snapshot, message: `WorkflowRun ${name} goes on: ${count} jobs run again` };
}

/** Begins another attempt of a job. Of a matrix the instances that are kept stay as they are. */
function reopenJob(jobs: Jobs, id: string, rerun: Rerun): void {
  const old = memberOf(jobs, id);
  if (old === undefined) return;
  const keys = Array.from({ length: old.instances ?? 0 }, (_, index) => instanceKey(id, index));
  if (keys.length === 0) {
    jobs[id] = reopen(old);
    return;
  }
  // Names of children have the number of the attempt in them: no instance may ever have one again.
  const highest = Math.max(old.attempt ?? 1, ...keys.map((key) => memberOf(jobs, key)?.attempt ?? 0));
  const whole = { ...reopen({ ...old, attempt: highest }) };
  if (rerun === "all") {
    for (const key of keys) delete jobs[key];
    jobs[id] = whole;
    return;
  }
  for (const key of rerun) {
    const instance = memberOf(jobs, key);
    if (instance !== undefined) jobs[key] = reopen(instance);
  }
  const { instances, startTime } = old;
  jobs[id] = { ...whole, phase: "Running", ...(instances && { instances }), ...(startTime && { startTime }) };
}
