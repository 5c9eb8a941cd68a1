import type { FieldError } from "#api/field-error.ts";
import type { WorkflowRun } from "#api/kinds/workflow-run.ts";
import { invalid } from "#api/validation/rule.ts";
import { formatErrors } from "#workflows/field-error.ts";
import { inputValues } from "#workflows/inputs.ts";
import { compileLive } from "./live-templates.ts";
import type { Lookups } from "./lookups.ts";
import { controllingWorkflowRun } from "./ownership.ts";

/**
 * What is wrong with what a new WorkflowRun refers to. It has to be there and to fit now, because it is frozen at once: what is missing
 * fails the run for good, whereas a refused object can be applied again.
 */
export async function workflowRunErrors(
  run: WorkflowRun,
  namespace: string,
  lookups: Pick<Lookups, "workflow" | "action" | "inSlices">,
): Promise<readonly FieldError[]> {
  // A job that is a Workflow takes it from the snapshot of the run at the top; the live one may be another by now.
  if (controllingWorkflowRun(run) !== undefined) return [];
  const { jobs, workflowRef, inputs = {} } = run.spec;
  if (jobs !== undefined) {
    const compiled = await compileLive({ jobs }, namespace, lookups);
    return compiled.ok ? [] : compiled.errors;
  }
  const name = workflowRef?.name ?? "";
  const path = "spec.workflowRef.name";
  const workflow = await lookups.workflow(namespace, name);
  if (workflow === undefined) {
    return [
      invalid(path, `there is no Workflow ${name} in namespace ${namespace}`, "Create it before the WorkflowRun."),
    ];
  }
  const compiled = await compileLive(workflow.spec, namespace, lookups);
  if (!compiled.ok) {
    const message = `Workflow ${name} does not compile: ${formatErrors(compiled.errors, 3)}`;
    return [invalid(path, message, "Correct the Workflow, or what it uses.")];
  }
  const values = inputValues(compiled.plan.inputs, inputs, `Workflow "${name}"`, "spec.inputs");
  return values.ok ? [] : values.errors;
}
