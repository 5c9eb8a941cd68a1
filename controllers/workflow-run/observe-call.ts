import type { JobStatus, WorkflowRun } from "#api/kinds/workflow-run.ts";
import { timestamp } from "#api/time.ts";
import { hasEnded } from "#api/workflow-phases.ts";
import { instanceFailedReasons } from "#machines/job-matrix.ts";
import type { JobWorkflowEvent } from "#machines/job-workflow.ts";
import { firstLine } from "#machines/lib/text.ts";
import { childWorkflowRun, childWorkflowRunNameOf } from "#workflows/child-workflow-run.ts";
import { evaluateTemplate } from "#workflows/expressions/evaluate.ts";
import { type Budget, bytesOf, jobBytes } from "./budget.ts";
import { nextAttempt, passedOver } from "./failure.ts";
import { headOf, type JobContext } from "./job-context.ts";
import { isTime } from "./observe-job.ts";
import { type Ending, observeNeeds } from "./observe-needs.ts";
import { sightingDelayMs } from "./observe-step.ts";

/**
 * What is due for a job that uses a Workflow.
 *
 * @param stored the job as the API server has it
 * @param hasPlace whether another job may start
 */
export function observeCall(
  context: JobContext,
  job: JobStatus,
  stored: JobStatus | undefined,
  ending: Ending | undefined,
  hasPlace: boolean,
  budget: Budget,
): JobWorkflowEvent | undefined {
  const { now } = context;
  switch (job.phase) {
    case "Waiting":
      return observeWaiting(context, ending);
    case "Queued":
      if (ending !== undefined) return { type: "SKIP", ...ending, now };
      return hasPlace && isTime(job, now)
        ? { type: "START", workflowRunName: nameOf(context, job, job.collision ?? 0), now }
        : undefined;
    case "Running":
    case "Stopping":
      return observeChild(context, job, stored, ending, budget);
    default:
      return undefined;
  }
}

function nameOf({ seen, job }: JobContext, { attempt = 1 }: JobStatus, collision: number): string {
  return childWorkflowRunNameOf({ owner: seen.run, job: job.id, jobAttempt: attempt, collision });
}

function observeWaiting(context: JobContext, ending: Ending | undefined): JobWorkflowEvent | undefined {
  const { now } = context;
  const needs = observeNeeds(context, ending);
  if (needs === "wait") return undefined;
  if (needs !== "ready") return needs.type === "SKIP" ? needs : { ...needs, ...passedOver(context) };
  const given = inputsOf(context);
  if (given.ok) return { type: "READY", now };
  return { type: "CANNOT_START", reason: "ExpressionFailed", message: given.message, ...passedOver(context), now };
}

type Given =
  | { readonly ok: true; readonly inputs: Readonly<Record<string, string>> }
  | { readonly ok: false; readonly message: string };

/** The values that the job hands to the Workflow. */
function inputsOf(context: JobContext): Given {
  const { work } = context.job;
  const inputs: [string, string][] = [];
  for (const [name, template] of work.kind === "workflow" ? work.with : []) {
    const result = evaluateTemplate(template, headOf(context));
    if (!result.ok) return { ok: false, message: `with "${name}": ${result.message}` };
    inputs.push([name, result.value]);
  }
  return { ok: true, inputs: Object.fromEntries(inputs) };
}

/** The child of a job as its status names it; undefined when it cannot be made any more. */
export function buildCall(context: JobContext, { attempt = 1, collision = 0 }: JobStatus): WorkflowRun | undefined {
  const { seen, job } = context;
  const given = inputsOf(context);
  if (job.work.kind !== "workflow" || !given.ok) return undefined;
  const { workflow } = job.work;
  return childWorkflowRun({
    owner: seen.run,
    job: job.id,
    jobAttempt: attempt,
    collision,
    workflow,
    inputs: given.inputs,
  });
}

function observeChild(
  context: JobContext,
  job: JobStatus,
  stored: JobStatus | undefined,
  ending: Ending | undefined,
  budget: Budget,
): JobWorkflowEvent | undefined {
  const { seen, now } = context;
  const name = job.workflowRunName ?? "";
  // Ordered in this very pass: nothing can be there yet.
  if (stored?.workflowRunName !== name) return undefined;
  const found = seen.children.get(name) ?? { kind: "absent" };
  if (found.kind === "foreign" && job.phase === "Running") {
    const message = `a WorkflowRun named ${name} exists and belongs to somebody else`;
    return { type: "NAME_TAKEN", workflowRunName: nameOf(context, job, (job.collision ?? 0) + 1), message, now };
  }
  if (found.kind !== "ours") {
    const refusal = seen.refused.get(name);
    if (job.phase === "Stopping") return { type: "CHILD_MISSING", now };
    if (ending !== undefined) return { type: "CANCEL", ...ending, now };
    return refusal === undefined ? { type: "CHILD_MISSING", now } : { type: "CHILD_REFUSED", message: refusal, now };
  }
  return (
    observeEnd(context, job, found.object, ending, budget) ??
    (ending !== undefined && job.phase === "Running" ? { type: "CANCEL", ...ending, now } : undefined) ??
    observeSight(context, job, found.object)
  );
}

function observeEnd(
  context: JobContext,
  job: JobStatus,
  child: WorkflowRun,
  ending: Ending | undefined,
  budget: Budget,
): JobWorkflowEvent | undefined {
  const { now } = context;
  const { phase, reason, message, outputs } = child.status ?? { phase: "Pending" };
  if (!hasEnded(phase)) return undefined;
  const hasRoom = budget.take(jobBytes + bytesOf(outputs ?? {}));
  const left = hasRoom && outputs !== undefined ? { outputs } : {};
  if (job.phase === "Stopping") return { type: "CHILD_ENDED", ...left, now };
  const failed = (why: string): JobWorkflowEvent => {
    const known = instanceFailedReasons.find((each) => each === reason) ?? "JobFailed";
    const again = ending !== undefined ? undefined : nextAttempt(context, job, { reason: known, message: why });
    return again ?? { type: "CHILD_FAILED", reason: known, message: why, ...left, ...passedOver(context), now };
  };
  if (phase === "Succeeded") {
    if (hasRoom) return { type: "CHILD_SUCCEEDED", ...left, now };
    return failed(`the outputs of WorkflowRun ${child.metadata.name} do not fit into the status of this one`);
  }
  const cause = [reason, message && firstLine(message)].filter(Boolean).join(": ");
  return failed(`WorkflowRun ${child.metadata.name} did not succeed${cause === "" ? "" : ` (${cause})`}`);
}

/** That the child exists is written down once it is as old as child Runs must be. */
function observeSight({ seen, now }: JobContext, job: JobStatus, child: WorkflowRun): JobWorkflowEvent | undefined {
  const since = seen.sightings.get(child.metadata.uid ?? "") ?? now;
  if (job.phase !== "Running" || job.startTime !== undefined || now - since < sightingDelayMs) return undefined;
  return { type: "CHILD_SEEN", startTime: child.metadata.creationTimestamp ?? timestamp(since) };
}
