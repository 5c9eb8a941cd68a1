import type { FieldError } from "#api/field-error.ts";
import type { WorkflowRun } from "#api/kinds/workflow-run.ts";
import { workflowRuns } from "#api/resources.ts";
import { collectTemplates, templatesOf } from "#workflows/collect-templates.ts";
import { workflowErrors } from "#workflows/compile-workflow.ts";
import { compileInputs, inputValues } from "#workflows/inputs.ts";
import type { Lookups } from "./review.ts";

/**
 * What is wrong with a new WorkflowRun: its own jobs with what they use, or the inputs for its Workflow. What is not there (yet) is left to
 * the controller.
 */
export async function workflowRunErrors(
  { metadata, spec }: WorkflowRun,
  namespace: string,
  lookups: Pick<Lookups, "workflow" | "action">,
): Promise<readonly FieldError[]> {
  // A job that is a Workflow takes it from the snapshot of the run at the top; the live one may be another by now.
  const owner = metadata.ownerReferences?.find(({ controller }) => controller === true);
  if (owner?.kind === workflowRuns.kind) return [];
  const { jobs, workflowRef, inputs = {} } = spec;
  if (jobs !== undefined) {
    const finder = {
      workflow: (name: string) => lookups.workflow(namespace, name),
      action: (name: string) => lookups.action(namespace, name),
    };
    const used = await collectTemplates(jobs, finder, "spec.jobs");
    return used.ok ? workflowErrors({ jobs }, { path: "spec", templates: templatesOf(used) }) : used.errors;
  }
  const name = workflowRef?.name ?? "";
  const workflow = await lookups.workflow(namespace, name);
  if (workflow === undefined) return [];
  const declared = compileInputs(workflow.spec.inputs, "spec.inputs");
  // Its condition Valid says what is wrong with a Workflow.
  if (declared.errors.length > 0) return [];
  const values = inputValues(declared.inputs, inputs, `Workflow "${name}"`, "spec.inputs");
  return values.ok ? [] : values.errors;
}
