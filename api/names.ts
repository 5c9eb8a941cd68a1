import { hash8 } from "./hash.ts";

/** Longest label value, and the longest name of anything that becomes one (Kubernetes). */
export const maxLabelLength = 63;

/** Form of label keys and resource names in Kubernetes: at most 63 characters, optionally with a domain in front. */
export const qualifiedName = /^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?\/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;

/** Form of label values in Kubernetes; they may be empty. */
export const labelForm = /^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$/;

/** Hyphen and hash at the end of a generated name. */
const hashLength = 9;

/**
 * Longest name of a Runtime: its Pods are named `runtime-<name>-<hash8>-<id>` with an id of 5 characters, and the name of a Pod is
 * its host name, which has at most 63.
 */
export const maxRuntimeName = maxLabelLength - "runtime-".length - hashLength - "-abcde".length;

/** An id of a workflow, job or step as it stands in object names: lower case, everything but letters and digits is `-`. */
export function namePart(id: string): string {
  return id.toLowerCase().replace(/[^a-z0-9]/g, "-");
}

/** `<parts>-<hash8 of identity>`, the parts cut so that the whole is a valid label of at most 63 characters. */
function hashed(parts: readonly string[], identity: unknown): string {
  const prefix = parts
    .map(namePart)
    .join("-")
    .slice(0, maxLabelLength - hashLength)
    .replace(/^-+|-+$/g, "");
  return `${prefix}-${hash8(identity)}`;
}

/** What tells the Run of a step of a WorkflowRun from all others. Attempts of a step itself are attempts of that Run. */
export interface ChildRunIdentity {
  readonly workflowRun: string;
  readonly workflowRunUID: string;
  /** Id of the job, or of the instance of its matrix. */
  readonly job: string;
  readonly step: string;
  /** Step of the Action that `step` uses. */
  readonly actionStep?: string;
  /** Attempts count from 1. */
  readonly jobAttempt: number;
  /** Names tried before that belonged to somebody else. */
  readonly collision?: number;
}

/** Name of the child Run of a step: `<workflow-run>-<job>-<step>-<hash8>`, at most 63 characters. */
export function childRunName(id: ChildRunIdentity): string {
  return hashed(
    [id.workflowRun, id.job, id.step],
    [id.workflowRunUID, id.job, id.step, id.actionStep ?? "", id.jobAttempt, id.collision ?? 0],
  );
}

/** What tells a job attempt of a WorkflowRun from all others. */
export interface JobAttemptIdentity {
  readonly workflowRun: string;
  readonly workflowRunUID: string;
  /** Id of the job, or of the instance of its matrix. */
  readonly job: string;
  /** Counts from 1. */
  readonly jobAttempt: number;
  /** Names tried before that belonged to somebody else. */
  readonly collision?: number;
}

const jobIdentity = (id: JobAttemptIdentity) => [id.workflowRunUID, id.job, id.jobAttempt, id.collision ?? 0];

/** Name of the job-local PersistentWorkspace of a job attempt: `<workflow-run>-<job>-<hash8>`, at most 63 characters. */
export function jobWorkspaceName(id: JobAttemptIdentity): string {
  return hashed([id.workflowRun, id.job], ["workspace", ...jobIdentity(id)]);
}

/** Name of the child WorkflowRun of an attempt of a job with `uses`, at most 63 characters. */
export function childWorkflowRunName(id: JobAttemptIdentity): string {
  return hashed([id.workflowRun, id.job], ["workflow-run", ...jobIdentity(id)]);
}

/** Name of the ControllerRevision with the templates that a WorkflowRun was started from. */
export function snapshotName(workflowRun: string, workflowRunUID: string): string {
  return hashed([workflowRun.slice(0, 40), "snapshot"], ["snapshot", workflowRunUID]);
}

/** Name of the ReplicaSet of a Runtime for one template hash (8 characters). */
export function replicaSetName(runtime: string, templateHash: string): string {
  return `runtime-${runtime}-${templateHash}`;
}

/** Where a workspace is mounted in every Pod of its Runtime. */
export function workspacePath(workspace: string): string {
  return `/workspace/persistent/${workspace}`;
}

/**
 * A text as a label value: characters that labels refuse become `-`; over 63 characters it is cut and ends in a hash of the
 * whole, so that two long texts stay apart. Text without a letter or digit gives the empty value, which labels allow.
 */
export function labelValue(text: string): string {
  const clean = trimLabel(text.replace(/[^A-Za-z0-9_.-]/g, "-"));
  if (clean.length <= maxLabelLength) return clean;
  return `${trimLabel(clean.slice(0, maxLabelLength - hashLength))}-${hash8(text)}`;
}

function trimLabel(text: string): string {
  return text.replace(/^[^A-Za-z0-9]+|[^A-Za-z0-9]+$/g, "");
}
