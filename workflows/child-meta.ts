import type { WorkflowRun } from "#api/kinds/workflow-run.ts";
import { labels } from "#api/labels.ts";
import type { ObjectMeta } from "#api/meta.ts";
import { labelValue } from "#api/names.ts";
import { workflowRuns } from "#api/resources.ts";
import { controllerReference } from "#kube/builtin.ts";

/** What a child of a WorkflowRun belongs to. */
export interface Belonging {
  readonly owner: WorkflowRun;
  readonly job: string;
  /** Attempt of the job, from 1. */
  readonly jobAttempt: number;
  /** Absent for a WorkflowRun, whose jobs have Runtimes of their own. */
  readonly runtime?: string;
  /** Absent for what belongs to the whole job. */
  readonly step?: string;
}

/**
 * Metadata of a child: the WorkflowRun as its controller, so that it lives as long as that, and the labels by which it is found and
 * by which admission tells our children from objects that only look like them.
 */
export function childMeta(name: string, component: string, child: Belonging): ObjectMeta {
  const { owner, job, jobAttempt, runtime, step } = child;
  const { name: ownerName, namespace } = owner.metadata;
  const reference = controllerReference(workflowRuns, owner);
  const workflow = owner.spec.workflowRef?.name;
  return {
    name,
    ...(namespace === undefined ? {} : { namespace }),
    labels: {
      ...(runtime === undefined ? {} : { [labels.runtime]: runtime }),
      ...(workflow === undefined ? {} : { [labels.workflow]: labelValue(workflow) }),
      [labels.workflowRun]: labelValue(ownerName),
      [labels.workflowRunUID]: reference.uid,
      [labels.job]: job,
      ...(step === undefined ? {} : { [labels.step]: step }),
      [labels.attempt]: String(jobAttempt),
      [labels.name]: "kruntimes",
      [labels.component]: component,
      [labels.instance]: labelValue(ownerName),
      [labels.partOf]: "kruntimes",
      [labels.managedBy]: "kruntimes",
    },
    ownerReferences: [reference],
  };
}

/**
 * Whether an object under the name of a child is that child: its controller is this very WorkflowRun. Anything else is a collision; it
 * is never adopted.
 */
export function isChildOf(object: { readonly metadata: ObjectMeta }, owner: WorkflowRun): boolean {
  const controller = object.metadata.ownerReferences?.find((reference) => reference.controller === true);
  return controller !== undefined && controller.uid === owner.metadata.uid && controller.kind === workflowRuns.kind;
}
