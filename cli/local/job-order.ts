import type { JobSpec } from "#api/kinds/job.ts";
import type { WorkflowRun } from "#api/kinds/workflow-run.ts";
import { workflows } from "#api/resources.ts";
import { compileWorkflow } from "#workflows/compile-workflow.ts";
import { member } from "../manifests/members.ts";
import type { Plan } from "../manifests/plan.ts";
import type { OrderOf } from "../progress/frame.ts";

/** The order of the jobs of each WorkflowRun as its graph has it, so that they do not change places while they start. */
export function jobOrders({ definitions }: Pick<Plan, "definitions">, workflowRuns: readonly WorkflowRun[]): OrderOf {
  const orders = new Map<string, readonly string[]>();
  for (const { metadata, spec } of workflowRuns) {
    const workflow = definitions.find(
      ({ resource, object }) =>
        resource.kind === workflows.kind &&
        object.metadata.name === spec.workflowRef?.name &&
        object.metadata.namespace === metadata.namespace,
    );
    // The API server has accepted both, so the form is known.
    const jobs = spec.jobs ?? (member(workflow?.object.spec, "jobs") as Record<string, JobSpec> | undefined);
    const compiled = jobs === undefined ? undefined : compileWorkflow({ jobs });
    if (compiled?.ok) orders.set(metadata.name, compiled.plan.order);
  }
  return (name) => orders.get(name);
}
