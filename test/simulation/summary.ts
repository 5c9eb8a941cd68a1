import type { RunStatus } from "#api/kinds/run.ts";
import type { WorkflowActionStatus } from "#api/kinds/workflow-action.ts";
import type { WorkflowRunStatus } from "#api/kinds/workflow-run.ts";
import type { Change } from "#local/apiserver/index.ts";

const verbs = { ADDED: "is created", MODIFIED: "changes", DELETED: "is gone" } as const;

/** A change in one line: what of the status people would look at. */
export function describeChange({ type, resource, object }: Change): string {
  const { name, deletionTimestamp, finalizers = [] } = object.metadata;
  const marks = [
    ...(deletionTimestamp === undefined ? [] : ["deleting"]),
    ...(finalizers.length === 0 ? [] : ["finalizer"]),
  ];
  const says = type === "DELETED" ? "" : ` ${statusText(resource, object.status)}`;
  return `${resource.split(".")[0]}/${name} ${verbs[type]}${says}${marks.length === 0 ? "" : ` (${marks.join(", ")})`}`;
}

function statusText(resource: string, status: unknown): string {
  if (typeof status !== "object" || status === null) return "";
  switch (resource) {
    case "runs.kruntimes.io": {
      const { phase, reason, assignedPod, assignmentEpoch, attempt, exitCode } = status as RunStatus;
      return words({ phase, reason, pod: assignedPod, epoch: assignmentEpoch, attempt, exitCode });
    }
    case "workflowruns.kruntimes.io": {
      const { phase, reason, suspended, shutdown, attempt, appliedActions, jobs = {} } = status as WorkflowRunStatus;
      const each = Object.entries(jobs).map(
        ([id, job]) =>
          `${id}=${job.phase}${job.reason === undefined ? "" : `(${job.reason})`}[${(job.steps ?? []).map((step) => step.phase).join()}]`,
      );
      const records = appliedActions?.map(({ name, outcome }) => `${name}:${outcome}`).join();
      return `${words({ phase, reason, suspended, shutdown, attempt, records })} ${each.join(" ")}`;
    }
    case "workflowactions.kruntimes.io": {
      const { phase, reason } = status as WorkflowActionStatus;
      return words({ phase, reason });
    }
    case "pods": {
      const { phase, reason, conditions } = status as { phase?: string; reason?: string; conditions?: Condition[] };
      return words({ phase, reason, ready: conditions?.find(({ type }) => type === "Ready")?.status });
    }
    case "persistentworkspaces.kruntimes.io": {
      const { phase, reason, boundPod, activeRuns } = status as Record<string, unknown>;
      return words({ phase, reason, pod: boundPod, activeRuns });
    }
    default: {
      const { phase, replicas, readyReplicas } = status as Record<string, unknown>;
      return words({ phase, replicas, readyReplicas });
    }
  }
}

interface Condition {
  readonly type: string;
  readonly status: string;
}

function words(fields: Readonly<Record<string, unknown>>): string {
  return Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => (key === "phase" || key === "reason" ? String(value) : `${key}=${value}`))
    .join(" ");
}
