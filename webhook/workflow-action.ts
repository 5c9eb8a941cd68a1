import type { FieldError } from "#api/field-error.ts";
import type { WorkflowAction } from "#api/kinds/workflow-action.ts";
import { snapshotName } from "#api/names.ts";
import { compileInputs } from "#workflows/inputs.ts";
import { overrideInputs } from "#workflows/run-inputs.ts";
import { readSnapshot } from "#workflows/snapshot.ts";
import type { Lookups } from "./lookups.ts";
import { controllingWorkflowRun } from "./ownership.ts";

/**
 * What is wrong with the inputs of a Retry, as far as that can be known: the WorkflowRun has frozen the Workflow that declares them.
 * Everything else about its target is for the controller to answer, which sees it when the action is applied.
 */
export async function workflowActionErrors(
  { spec }: WorkflowAction,
  namespace: string,
  lookups: Pick<Lookups, "workflowRun" | "snapshot">,
): Promise<readonly FieldError[]> {
  const { workflowRef, retry } = spec;
  const { inputs = {} } = retry ?? {};
  if (Object.keys(inputs).length === 0) return [];
  const run = await lookups.workflowRun(namespace, workflowRef.name);
  const { uid = "" } = run?.metadata ?? {};
  // The controller says so of one that is not there, or is a job of another one.
  if (run === undefined || (workflowRef.uid ?? uid) !== uid || controllingWorkflowRun(run) !== undefined) return [];
  const declared = run.spec.workflowRef === undefined ? {} : await declaredInputs(run, uid, namespace, lookups);
  if (declared === undefined) return [];
  const override = overrideInputs(compileInputs(declared, "").inputs, run, inputs, "spec.retry.inputs");
  return override.ok ? [] : override.errors;
}

/** The inputs that the frozen Workflow of a run declares; undefined when it is not frozen. */
async function declaredInputs(
  run: Parameters<typeof readSnapshot>[1],
  uid: string,
  namespace: string,
  lookups: Pick<Lookups, "snapshot">,
) {
  const revision = await lookups.snapshot(namespace, snapshotName(run.metadata.name, uid));
  const read = revision && readSnapshot(revision, run);
  return read?.ok === true ? (read.snapshot.workflow?.spec.inputs ?? {}) : undefined;
}
