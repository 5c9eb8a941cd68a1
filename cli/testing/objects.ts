import type { Run, RunStatus } from "#api/kinds/run.ts";
import type { JobStatus, WorkflowRun, WorkflowRunStatus } from "#api/kinds/workflow-run.ts";
import { labels } from "#api/labels.ts";
import { timestamp } from "#api/time.ts";

/** Wall clock at second 0 of the tests. */
export const start = Date.parse("2026-01-01T00:00:00Z");

export const at = (seconds: number): string => timestamp(start + seconds * 1000);

export function aRun(name: string, status: RunStatus | undefined, spec: Partial<Run["spec"]> = {}): Run {
  return {
    metadata: { name, namespace: "default", uid: `uid-${name}` },
    spec: { runtime: "bash", ...spec },
    ...(status === undefined ? {} : { status }),
  };
}

/** A child of a WorkflowRun. */
export function aStepRun(workflowRun: string, job: string, step: string, status: RunStatus): Run {
  const run = aRun(`${workflowRun}-${job}-${step}`, status);
  return {
    ...run,
    metadata: {
      ...run.metadata,
      labels: { [labels.job]: job, [labels.step]: step },
      ownerReferences: [
        { apiVersion: "kruntimes.io/v1alpha1", kind: "WorkflowRun", name: workflowRun, uid: "u", controller: true },
      ],
    },
  };
}

export function aWorkflowRun(
  name: string,
  jobs: Record<string, JobStatus>,
  phase: WorkflowRunStatus["phase"] = "Running",
): WorkflowRun {
  return {
    metadata: { name, namespace: "default", uid: `uid-${name}` },
    spec: { workflowRef: { name: "ci" } },
    status: { phase, jobs },
  };
}
