import { parseDuration } from "#api/duration.ts";
import type { WorkflowRunStatus } from "#api/kinds/workflow-run.ts";
import { labels } from "#api/labels.ts";
import { parseTime } from "#api/time.ts";
import { cleansUp, workflowRunEvent } from "#machines/derive.ts";
import type { WorkflowRunEvent } from "#machines/workflow-run.ts";
import { formatErrors } from "#workflows/field-error.ts";
import { evaluateOutputs, knownOutputs } from "#workflows/outputs.ts";
import { jobValues, memberOf, runValues } from "#workflows/values.ts";
import type { Seen } from "./seen.ts";

/** What is due for a WorkflowRun whose jobs are as `status` says. */
export function observeRun(seen: Seen, status: WorkflowRunStatus, now: number): WorkflowRunEvent | undefined {
  switch (status.phase) {
    case "Pending":
      // Before it has begun there is nothing to clean up.
      return observeParent(seen, now, "at once") ?? observePending(seen, now);
    case "Running":
    case "Suspended":
      return (
        observeSum(seen, status, now) ??
        observeParent(seen, now) ??
        observeTimeout(seen, status, now) ??
        observeWorkspaces(seen, status, now)
      );
    default:
      return (
        observeSum(seen, status, now) ??
        observeHaste(seen, status, now) ??
        observeTimeout(seen, status, now) ??
        (cleansUp(status) ? observeWorkspaces(seen, status, now) : undefined)
      );
  }
}

function observeSum({ run, source }: Seen, status: WorkflowRunStatus, now: number): WorkflowRunEvent | undefined {
  const event = workflowRunEvent(status, now);
  if (event === undefined || source.kind !== "plan" || !source.compiled.ok) return event;
  const { plan } = source.compiled;
  const values = { ...runValues(run, source.inputs), jobs: jobValues(plan.order, status.jobs) };
  if (event.type === "JOB_FAILED" || event.type === "JOBS_ENDED") {
    return { ...event, outputs: knownOutputs(plan.outputs, values) };
  }
  if (event.type !== "JOBS_SUCCEEDED") return event;
  const result = evaluateOutputs(plan.outputs, values);
  if (result.ok) return { ...event, outputs: result.outputs };
  return { type: "OUTPUTS_FAILED", reason: result.reason, message: result.message, now };
}

/** A run that is a job of another one ends as that does: what cleans up there cleans up here. */
function observeParent({ parent, run }: Seen, now: number, haste?: "at once"): WorkflowRunEvent | undefined {
  if (parent === undefined) return undefined;
  const job = memberOf(parent.status?.jobs, run.metadata.labels?.[labels.job] ?? "");
  if (job?.phase === "Running" && job.workflowRunName === run.metadata.name) return undefined;
  const message = `WorkflowRun ${parent.metadata.name} does not need it any more: ${job?.message ?? "its job is over"}`;
  const isHurried = haste !== undefined || parent.status?.shutdown === "Terminate";
  if (isHurried || job?.phase !== "Stopping") return { type: "TERMINATE", message, now };
  return { type: parent.status?.reason === "TimedOut" ? "TIME_OUT" : "STOP", message, now };
}

/** A run that is ending already cleans up no longer than the one that it is a job of. */
function observeHaste(seen: Seen, status: WorkflowRunStatus, now: number): WorkflowRunEvent | undefined {
  if (status.phase !== "Stopping" || status.shutdown === "Terminate") return undefined;
  const event = observeParent(seen, now);
  return event?.type === "TERMINATE" || (event?.type === "TIME_OUT" && cleansUp(status)) ? event : undefined;
}

function observePending({ source }: Seen, now: number): WorkflowRunEvent | undefined {
  switch (source.kind) {
    case "missing":
      return { type: "INVALID", reason: "WorkflowNotFound", message: `there is no Workflow ${source.workflow}`, now };
    case "collision": {
      const message = `a ControllerRevision named ${source.name} exists and belongs to somebody else; delete it`;
      return { type: "INVALID", reason: "NameCollision", message, now };
    }
    case "unfrozen":
      return { type: "FREEZE", name: source.name };
    case "plan": {
      const { compiled, snapshotRef } = source;
      if (!compiled.ok)
        return { type: "INVALID", reason: "InvalidWorkflow", message: formatErrors(compiled.errors), now };
      const jobs = compiled.plan.order;
      return { type: "START", jobs, ...(snapshotRef === undefined ? {} : { snapshotRef }), now };
    }
    case "unavailable":
    case "over":
      return undefined;
    default:
      return source satisfies never;
  }
}

/** When the run is out of time; undefined without a limit, and when there is nothing that could be ended for it. */
export function timeoutDeadline({ run }: Seen, status: WorkflowRunStatus): number | undefined {
  const timeout = parseDuration(run.spec.timeout);
  const start = parseTime(status.startTime);
  const { phase } = status;
  const counts = phase === "Running" || phase === "Suspended" || (phase === "Stopping" && cleansUp(status));
  return !counts || timeout === undefined || start === undefined ? undefined : start + timeout;
}

function observeTimeout(seen: Seen, status: WorkflowRunStatus, now: number): WorkflowRunEvent | undefined {
  const deadline = timeoutDeadline(seen, status);
  if (deadline === undefined || now < deadline) return undefined;
  return { type: "TIME_OUT", message: `the run took longer than ${seen.run.spec.timeout}`, now };
}

/** Whether jobs wait for a place for their files. Which Pod that is stays out of the status. */
function observeWorkspaces(seen: Seen, status: WorkflowRunStatus, now: number): WorkflowRunEvent | undefined {
  const waits: string[] = [];
  for (const found of seen.workspaces.values()) {
    if (found.kind !== "ours") continue;
    const { phase = "Pending", reason, message } = found.object.status ?? {};
    const job = found.object.metadata.labels?.["workflows.kruntimes.io/job"];
    const jobPhase = status.jobs?.[job ?? ""]?.phase;
    if (phase === "Pending" && reason !== undefined && (jobPhase === "Running" || jobPhase === "Queued")) {
      waits.push(`job ${job} waits for a place for its files: ${message ?? reason}`);
    }
  }
  if (waits.length === 0) {
    const waited = status.conditions?.some(({ type, status: holds }) => type === "WorkspaceReady" && holds === "False");
    return waited ? { type: "WORKSPACE_READY", now } : undefined;
  }
  const message = waits.sort().join("; ");
  const said = status.conditions?.some(
    (each) => each.type === "WorkspaceReady" && each.status === "False" && each.message === message,
  );
  return said ? undefined : { type: "WORKSPACE_WAITS", message, now };
}
