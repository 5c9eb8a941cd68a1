import type { Run } from "#api/kinds/run.ts";
import { labels } from "#api/labels.ts";
import { workflowRuns } from "#api/resources.ts";
import { noneUsed, type UsedRuns } from "#workflows/used-runs.ts";
import { maxLevels } from "#workflows/uses.ts";

/**
 * `build/test`: how a step is called in lines of progress and before its output.
 *
 * @param path the job and the step, and before them the jobs that lead to it
 */
export function stepLabel(workflowRun: string, path: readonly string[], many: boolean): string {
  const name = path.join("/");
  return many ? `${workflowRun} ${name}` : name;
}

/**
 * How a Run is called: by its job and step, or by its own name where it has none.
 *
 * @param many whether labels need the name of the WorkflowRun
 * @param used the WorkflowRuns that are jobs of others
 */
export function labelOf(run: Run, many: boolean, used: UsedRuns = noneUsed): string {
  const job = run.metadata.labels?.[labels.job];
  const step = run.metadata.labels?.[labels.step];
  let owner = ownerOf(run);
  if (owner === undefined || job === undefined || step === undefined) return run.metadata.name;
  const path = [job, step];
  for (let level = 1; level < maxLevels; level++) {
    const around = used.get(owner);
    const next = around && ownerOf(around);
    if (next === undefined) break;
    path.unshift(around?.metadata.labels?.[labels.job] ?? owner);
    owner = next;
  }
  return stepLabel(owner, path, many);
}

/** The name of the WorkflowRun that an object is a child of. */
function ownerOf({ metadata }: Pick<Run, "metadata">): string | undefined {
  const owner = metadata.ownerReferences?.find(({ controller }) => controller === true);
  return owner?.kind === workflowRuns.kind ? owner.name : undefined;
}
