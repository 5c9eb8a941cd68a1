import type { WorkflowAction } from "#api/kinds/workflow-action.ts";
import type { JobStatus, WorkflowRun } from "#api/kinds/workflow-run.ts";
import { step } from "#machines/lib/settle.ts";
import { workflowRunMachine, workflowRunStatus } from "#machines/workflow-run.ts";
import { formatErrors, listOf } from "#workflows/field-error.ts";
import { outputsUseInputs } from "#workflows/input-use.ts";
import { parseNodeFieldSelector } from "#workflows/node-field-selector.ts";
import { instanceKeys, missingArtifact, type Rerun, retrySet } from "#workflows/retry-set.ts";
import { type Override, overrideInputs } from "#workflows/run-inputs.ts";
import { runValues } from "#workflows/values.ts";
import { bytesOf } from "../budget.ts";
import { ownerOf } from "../family.ts";
import { reopenJobs } from "./reopen.ts";
import { type ApplyContext, refuse, type Verdict } from "./verdict.ts";

/** Retry: a run that has ended goes on with a new attempt of every job that has something left to do. */
export function retry(action: WorkflowAction, context: ApplyContext): Verdict {
  const { plan, snapshot: before, runUids, now } = context;
  const { name } = context.run.metadata;
  const parent = ownerOf(context.run)?.name;
  if (parent !== undefined) {
    return refuse("NothingToRetry", `WorkflowRun ${name} is a job of WorkflowRun ${parent}: retry that one`);
  }
  if (!before.hasTag("terminal")) {
    return refuse("WorkflowNotCompleted", `WorkflowRun ${name} has not ended: wait for its end, or stop it first`);
  }
  const { nodeFieldSelector = "", restartSuccessful = false, inputs = {} } = action.spec.retry ?? {};
  if (before.value === "Succeeded" && !(restartSuccessful && nodeFieldSelector !== "")) {
    const message = `WorkflowRun ${name} has succeeded: to run jobs again set restartSuccessful and nodeFieldSelector`;
    return refuse("NothingToRetry", message);
  }
  const { jobs } = before.context.status;
  if (jobs === undefined) return refuse("NothingToRetry", `WorkflowRun ${name} never began: create a new one`);
  if (plan === undefined) {
    return refuse("NothingToRetry", `the templates that WorkflowRun ${name} has frozen are gone: create a new one`);
  }
  const parsed = nodeFieldSelector === "" ? undefined : parseNodeFieldSelector(nodeFieldSelector);
  if (parsed?.ok === false) return refuse("InvalidNodeFieldSelector", parsed.message);
  const run: WorkflowRun = { ...context.run, status: workflowRunStatus(before) };
  const override = overrideInputs(plan.inputs, run, inputs, "spec.retry.inputs");
  if (!override.ok) return refuse("InvalidInputs", formatErrors(override.errors));
  const isOther = override.changed.size > 0;
  const chosen = retrySet(plan, jobs, {
    ...(parsed && { selector: parsed.selector }),
    restartSuccessful,
    ...(isOther && { override: { changed: override.changed, values: nextValues(run, override) } }),
  });
  if (!chosen.ok) return refuse("InvalidInputs", chosen.message);
  const { set } = chosen;
  // Outputs of the run that use the new value are worth another end of it, though no job runs.
  const isNothing = set.size === 0 && !(isOther && outputsUseInputs(plan, override.changed));
  if (isNothing) return refuse("NothingToRetry", whyNothing(name, nodeFieldSelector, restartSuccessful));
  const missing = missingArtifact(plan, jobs, set, runUids);
  if (missing !== undefined) return refuse("ArtifactMissing", missing);
  const runAttempt = (run.status?.attempt ?? 1) + 1;
  const next = reopenJobs(jobs, set, runAttempt);
  const given = isOther ? { inputs: { ...override.given } } : {};
  const grows = bytesOf({ ...given, next }) - bytesOf(jobs);
  if (isOther && grows > 0 && !context.room(grows)) {
    const message = `the status of WorkflowRun ${name} has no room for these inputs: give long texts as artifacts, or fewer instances`;
    return refuse("InvalidInputs", message);
  }
  const { suspend, shutdown } = run.spec;
  const asSpec = { ...(suspend && { suspend }), ...(shutdown && { shutdown }) };
  const { snapshot } = step(workflowRunMachine, before, { type: "RETRY", jobs: next, ...given, ...asSpec, now });
  return { outcome: "Succeeded", snapshot, message: `WorkflowRun ${name} goes on: ${whatRuns(jobs, set)}` };
}

function whyNothing(name: string, selector: string, restartSuccessful: boolean): string {
  if (selector === "") {
    const advice = "to run some of them again set restartSuccessful and nodeFieldSelector";
    return `every job of WorkflowRun ${name} ended well or is not to run; ${advice}`;
  }
  if (restartSuccessful) return `the selector ${selector} matches no job of WorkflowRun ${name}`;
  const means = "restartSuccessful also means those that succeeded";
  return `the selector ${selector} matches no job of WorkflowRun ${name} that failed, was ended or never ran; ${means}`;
}

/** What expressions of the new attempt see. */
function nextValues(run: WorkflowRun, { values }: Override & { ok: true }) {
  const status = { phase: "Running" as const, ...run.status, attempt: (run.status?.attempt ?? 1) + 1 };
  return runValues({ ...run, status }, values);
}

function whatRuns(jobs: Readonly<Record<string, JobStatus>>, set: ReadonlyMap<string, Rerun>): string {
  let count = 0;
  const gone: string[] = [];
  for (const [id, rerun] of set) {
    if (rerun === "all") {
      count += 1;
      continue;
    }
    count += rerun.filter(({ runs }) => runs).length;
    const stay = new Set(rerun.map(({ from }) => from));
    gone.push(...instanceKeys(jobs, id).filter((key) => !stay.has(key)));
  }
  const again = count === 1 ? "1 job runs again" : `${count === 0 ? "no" : count} jobs run again`;
  return gone.length === 0 ? again : `${again}, and ${listOf(gone)} left the matrix`;
}
