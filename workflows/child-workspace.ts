import type { PersistentWorkspace } from "#api/kinds/persistent-workspace.ts";
import type { WorkflowRun } from "#api/kinds/workflow-run.ts";
import { apiVersion, workspaceFinalizer } from "#api/labels.ts";
import { jobWorkspaceName } from "#api/names.ts";
import { persistentWorkspaces } from "#api/resources.ts";
import { childMeta } from "./child-meta.ts";

export interface ChildWorkspaceInput {
  readonly owner: WorkflowRun;
  readonly job: { readonly id: string; readonly runsOn: string };
  /** Attempt of the job, from 1. */
  readonly jobAttempt: number;
  /** Names tried before that belonged to somebody else. */
  readonly collision?: number;
}

/**
 * The workspace that the steps of one attempt of a job share. It comes with its cleanup finalizer, which it needs before it can
 * be bound: a write less for each job. It has no TTL: the controller sets one when the attempt has ended,
 * so that a gate, a suspension or a long queue never costs files.
 */
export function childWorkspace(input: ChildWorkspaceInput): PersistentWorkspace {
  const { owner, job, jobAttempt } = input;
  const belonging = { owner, job: job.id, jobAttempt, runtime: job.runsOn };
  return {
    apiVersion,
    kind: persistentWorkspaces.kind,
    metadata: {
      ...childMeta(childWorkspaceName(input), "workflow-workspace", belonging),
      finalizers: [workspaceFinalizer],
    },
    spec: { runtime: job.runsOn, mode: "RuntimePodLocal", cleanupPolicy: "DeleteAfterTTL" },
  };
}

/** Its name, the same in every reconcile. */
export function childWorkspaceName({
  owner,
  job,
  jobAttempt,
  collision = 0,
}: Omit<ChildWorkspaceInput, "job"> & { readonly job: { readonly id: string } }): string {
  return jobWorkspaceName({
    workflowRun: owner.metadata.name,
    workflowRunUID: owner.metadata.uid ?? "",
    job: job.id,
    jobAttempt,
    collision,
  });
}
