import type { WorkflowSpec } from "#api/kinds/workflow.ts";
import { collectTemplates, templatesOf } from "#workflows/collect-templates.ts";
import { compilingWorkflow } from "#workflows/compile-workflow.ts";
import type { Compiled, WorkflowPlan } from "#workflows/plan.ts";
import type { Lookups } from "./lookups.ts";

/** Compiles a workflow with the Actions and Workflows that it uses as they are now. What is not there is an error. */
export async function compileLive(
  spec: WorkflowSpec,
  namespace: string,
  lookups: Pick<Lookups, "workflow" | "action" | "inSlices">,
): Promise<Compiled<WorkflowPlan>> {
  const finder = {
    workflow: (name: string) => lookups.workflow(namespace, name),
    action: (name: string) => lookups.action(namespace, name),
  };
  const used = await collectTemplates(spec.jobs, finder, "spec.jobs");
  if (!used.ok) return used;
  return lookups.inSlices(compilingWorkflow(spec, { path: "spec", templates: templatesOf(used) }));
}

/**
 * What a Workflow uses and what does not fit yet. No errors: it may be applied before what it uses, in whatever order files are read.
 * A WorkflowRun needs it all.
 */
export async function usageWarnings(
  spec: WorkflowSpec,
  namespace: string,
  lookups: Pick<Lookups, "workflow" | "action" | "inSlices">,
): Promise<readonly string[]> {
  const compiled = await compileLive(spec, namespace, lookups);
  return compiled.ok ? [] : compiled.errors.map(({ path, message }) => `${path}: ${message}`);
}
