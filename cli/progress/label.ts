import type { Run } from "#api/kinds/run.ts";
import { labels } from "#api/labels.ts";
import { workflowRuns } from "#api/resources.ts";

/** `build/test`: how a step is called in lines of progress and before its output. */
export function stepLabel(workflowRun: string, job: string, step: string | undefined, many: boolean): string {
  const name = step === undefined ? job : `${job}/${step}`;
  return many ? `${workflowRun} ${name}` : name;
}

/**
 * How a Run is called: by its job and step, or by its own name where it has none.
 *
 * @param many whether labels need the name of the WorkflowRun
 */
export function labelOf(run: Run, many: boolean): string {
  const owner = run.metadata.ownerReferences?.find(({ controller }) => controller === true);
  const job = run.metadata.labels?.[labels.job];
  const step = run.metadata.labels?.[labels.step];
  if (owner?.kind !== workflowRuns.kind || job === undefined || step === undefined) return run.metadata.name;
  return stepLabel(owner.name, job, step, many);
}
