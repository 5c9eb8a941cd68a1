import type { JobStatus, WorkflowRun, WorkflowRunStatus } from "#api/kinds/workflow-run.ts";
import { workflowRuns } from "#api/resources.ts";
import { hasEnded } from "#api/workflow-phases.ts";
import { equalJson } from "#kube/json.ts";
import type { Change } from "#local/apiserver/index.ts";
import { isActive } from "#machines/derive.ts";
import { resourceOf } from "../world.ts";
import type { Report, Rule } from "./rule.ts";

const severity = { none: 0, Stop: 1, Terminate: 2 } as const;

/**
 * What people ask of a run holds: nothing new begins in one that is suspended, one that is asked to end does not go on, and only
 * another attempt takes that back. Another attempt leaves what it does not repeat as it was.
 */
export function shutdownRules(report: Report): Rule {
  function checkRun({ metadata, status }: WorkflowRun, old: WorkflowRunStatus | undefined): void {
    if (status === undefined || old === undefined) return;
    const subject = `WorkflowRun ${metadata.name}`;
    const isReopened = (status.attempt ?? 0) > (old.attempt ?? 0) && hasEnded(old.phase);
    const before = old.shutdown ?? "none";
    const now = status.shutdown ?? "none";
    if (isReopened) {
      checkAttempt(subject, status, old);
      return;
    }
    if (severity[now] < severity[before])
      report("shutdown never falls within an attempt", subject, `${before} to ${now}`);
    if (status.shutdown !== undefined) {
      if (status.phase === "Succeeded") report("a run that was stopped has not succeeded", subject, `${status.reason}`);
      if (status.phase !== "Stopping" && status.phase !== "Failed")
        report("a run that is asked to end does not go on", subject, status.phase);
    }
    for (const [id, job] of Object.entries(status.jobs ?? {})) {
      const fresh = begun(job, old.jobs?.[id]);
      if (fresh === undefined) continue;
      const what = `${fresh}: ${JSON.stringify(old.jobs?.[id])} to ${JSON.stringify(job)}`;
      const isHeld = old.phase === "Suspended" && status.phase === "Suspended";
      if (isHeld) report("nothing new begins in a suspended run", `${subject} job ${id}`, what);
      if (before === "Terminate") report("nothing new begins in a terminated run", `${subject} job ${id}`, what);
    }
  }

  /** Each job either goes into another attempt of its own, or stays as it was. */
  function checkAttempt(subject: string, status: WorkflowRunStatus, old: WorkflowRunStatus): void {
    if (status.attempt !== (old.attempt ?? 0) + 1) report("the attempt rises by one", subject, `${status.attempt}`);
    if (status.shutdown !== undefined || status.suspended === true || status.completionTime !== undefined)
      report("another attempt begins afresh", subject, JSON.stringify({ ...status, jobs: undefined }));
    for (const [id, job] of Object.entries(status.jobs ?? {})) {
      const before = old.jobs?.[id];
      const isAgain = !hasEnded(job.phase) && (job.attempt === undefined || job.attempt > (before?.attempt ?? 0));
      if (!isAgain && !equalJson(before, job))
        report("a job that is kept stays as it was", `${subject} job ${id}`, JSON.stringify([before, job]));
    }
  }

  return {
    change({ type, resource, object, previous }: Change) {
      if (type !== "MODIFIED" || resource !== resourceOf(workflowRuns)) return;
      checkRun(object as unknown as WorkflowRun, (previous as unknown as WorkflowRun | undefined)?.status);
    },
  };
}

/** What of a job was waiting and is at work now: itself, or a step. */
function begun(job: JobStatus, old: JobStatus | undefined): string | undefined {
  const isWaiting = (phase: string | undefined) => phase === undefined || phase === "Waiting" || phase === "Queued";
  if (isActive(job) && isWaiting(old?.phase)) return "it";
  const step = job.steps?.find((each) => {
    return isActive(each) && isWaiting(old?.steps?.find(({ name }) => name === each.name)?.phase);
  });
  return step && `step ${step.name}`;
}
