import { apiVersion, labels } from "#api/labels.ts";
import type { KubeObject, OwnerReference } from "#api/meta.ts";
import { workflowRuns } from "#api/resources.ts";

/** The WorkflowRun that an object names as its controller; undefined when it names none, or something else. */
export function controllingWorkflowRun({ metadata }: KubeObject): OwnerReference | undefined {
  const controllers = (metadata.ownerReferences ?? []).filter(({ controller }) => controller === true);
  const [only] = controllers;
  const isOne = controllers.length === 1 && only?.kind === workflowRuns.kind && only.apiVersion === apiVersion;
  return isOne && only.uid !== "" ? only : undefined;
}

/**
 * What is missing for the proof that Run and workspace belong to one job of one WorkflowRun; undefined when it is complete.
 *
 * W1  the Run's controller is a WorkflowRun
 * W2  so is the workspace's
 * W3  it is the same one, by name and UID
 * W4  it lives: of that UID, and not being deleted
 * W5  both carry its UID as their label
 * W6  both carry the label of the same job
 *
 * @param workflowRun what has the name that the Run refers to, read live
 */
export function missingProof(
  run: KubeObject,
  workspace: KubeObject,
  workflowRun: KubeObject | undefined,
): string | undefined {
  const [ofRun, ofWorkspace] = [controllingWorkflowRun(run), controllingWorkflowRun(workspace)];
  if (ofRun === undefined) return "the Run has no WorkflowRun as its controller";
  if (ofWorkspace === undefined) return "the workspace has no WorkflowRun as its controller";
  const { name, uid } = ofRun;
  if (ofWorkspace.uid !== uid || ofWorkspace.name !== name) return "Run and workspace belong to different WorkflowRuns";
  if (workflowRun?.metadata.uid !== uid) return `there is no WorkflowRun ${name} with UID ${uid}`;
  if (workflowRun.metadata.deletionTimestamp !== undefined) return `WorkflowRun ${name} is being deleted`;
  for (const [what, object] of [
    ["Run", run],
    ["workspace", workspace],
  ] as const) {
    if (object.metadata.labels?.[labels.workflowRunUID] !== uid) {
      return `label ${labels.workflowRunUID} of the ${what} is not the UID of the WorkflowRun`;
    }
  }
  const [jobOfRun, jobOfWorkspace] = [run, workspace].map(({ metadata }) => metadata.labels?.[labels.job]);
  if (!jobOfRun || jobOfRun !== jobOfWorkspace)
    return `label ${labels.job} of Run and workspace is not that of one job`;
  return undefined;
}
