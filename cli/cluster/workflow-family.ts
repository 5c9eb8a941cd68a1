import type { Run } from "#api/kinds/run.ts";
import type { WorkflowRun } from "#api/kinds/workflow-run.ts";
import type { KubeObject } from "#api/meta.ts";
import { runs, workflowRuns } from "#api/resources.ts";
import { listAll } from "#kube/client.ts";
import type { ResourceType } from "#kube/resource.ts";
import { StatusError } from "#kube/transport.ts";
import { maxLevels } from "#workflows/uses.ts";
import type { Session } from "./session.ts";
import { type Family, hasEarlierAttempts } from "./step-runs.ts";
import { childrenOf, usesWorkflows } from "./used-runs.ts";

/**
 * The children of a WorkflowRun, and theirs, as far as its status does not name them all.
 *
 * @returns beside them the kinds that the caller may not list
 */
export async function readFamily(
  run: WorkflowRun,
  { client, namespace }: Session,
): Promise<Family & { readonly hidden: readonly string[] }> {
  const hidden = new Set<string>();
  const children = async <T extends KubeObject>(resource: ResourceType<T>, parents: readonly WorkflowRun[]) => {
    const read = async (parent: WorkflowRun): Promise<readonly T[]> => {
      try {
        return (await listAll(client.of(resource), { namespace, labelSelector: childrenOf(parent) })).items;
      } catch (error) {
        if (!(error instanceof StatusError && error.code === 403)) throw error;
        hidden.add(resource.plural);
        return [];
      }
    };
    return (await Promise.all(parents.map(read))).flat();
  };
  const family: { runs: Run[]; workflowRuns: WorkflowRun[] } = { runs: [], workflowRuns: [] };
  let parents = [run];
  for (let level = 0; level < maxLevels && parents.length > 0; level++) {
    const [ownRuns, used] = await Promise.all([
      children(runs, parents.filter(hasEarlierAttempts)),
      children(
        workflowRuns,
        parents.filter((parent) => usesWorkflows(parent) || hasEarlierAttempts(parent)),
      ),
    ]);
    family.runs.push(...ownRuns);
    family.workflowRuns.push(...used);
    parents = used;
  }
  return { ...family, hidden: [...hidden] };
}
