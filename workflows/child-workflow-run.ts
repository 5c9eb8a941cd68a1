import type { WorkflowRun } from "#api/kinds/workflow-run.ts";
import { apiVersion } from "#api/labels.ts";
import { childWorkflowRunName } from "#api/names.ts";
import { workflowRuns } from "#api/resources.ts";
import { childMeta } from "./child-meta.ts";

export interface ChildWorkflowRunInput {
  readonly owner: WorkflowRun;
  /** Id of the job, or of the instance of its matrix. */
  readonly job: string;
  /** Attempt of the job, from 1. */
  readonly jobAttempt: number;
  /** Names tried before that belonged to somebody else. */
  readonly collision?: number;
  /** Name of the Workflow. */
  readonly workflow: string;
  /** Values that the job hands over, by name. */
  readonly inputs: Readonly<Record<string, string>>;
}

/** The WorkflowRun of a job that uses a Workflow. Its template comes from the frozen copy of its owner, and it ends with its job. */
export function childWorkflowRun(input: ChildWorkflowRunInput): WorkflowRun {
  const { owner, job, jobAttempt, workflow, inputs } = input;
  return {
    apiVersion,
    kind: workflowRuns.kind,
    metadata: childMeta(childWorkflowRunNameOf(input), "workflow-job", { owner, job, jobAttempt }),
    spec: {
      workflowRef: { name: workflow },
      ...(Object.keys(inputs).length === 0 ? {} : { inputs: { ...inputs } }),
    },
  };
}

/** Its name, the same in every reconcile. */
export function childWorkflowRunNameOf({
  owner,
  job,
  jobAttempt,
  collision = 0,
}: Pick<ChildWorkflowRunInput, "owner" | "job" | "jobAttempt" | "collision">): string {
  return childWorkflowRunName({
    workflowRun: owner.metadata.name,
    workflowRunUID: owner.metadata.uid ?? "",
    job,
    jobAttempt,
    collision,
  });
}
