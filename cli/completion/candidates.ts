import type { KubeList, KubeObject } from "#api/meta.ts";
import { reasons } from "#api/reasons.ts";
import { runs, runtimes, workflowRuns, workflows } from "#api/resources.ts";
import { runPhases } from "#api/run-phases.ts";
import { workflowRunPhases } from "#api/workflow-phases.ts";
import { namespaces, pods } from "#kube/builtin.ts";
import { pathOf, type ResourceType } from "#kube/resource.ts";
import { inCluster } from "../cluster/session.ts";
import type { Environment } from "../environment.ts";
import { kubeconfigOf, stateDirectory } from "../local/state-directory.ts";
import type { Next, WordKind } from "./next.ts";
import { shells } from "./scripts.ts";

/** Longest time that a completion takes, in milliseconds: somebody waits for it with a finger on the key. */
const patienceMs = 2000;

/** Names in one answer; who has more types a few letters first. */
const mostNames = 500;

/** Names travel alone. */
const accept = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io";

const objects: Partial<Record<WordKind, readonly ResourceType<KubeObject>[]>> = {
  run: [runs],
  workflow: [workflows],
  workflowRun: [workflowRuns],
  runOrWorkflowRun: [runs, workflowRuns],
  runtime: [runtimes],
  pod: [pods],
  namespace: [namespaces],
};

const fixed: Partial<Record<WordKind, readonly string[]>> = {
  reason: Object.keys(reasons),
  shell: shells,
  format: ["json", "yaml", "wide", "name", "jsonpath="],
  runPhase: runPhases,
  workflowRunPhase: workflowRunPhases,
};

/** All words that may stand next. Whatever is wrong with the cluster, a completion says nothing of it. */
export async function candidates({ words, kind, taken, cluster }: Next, env: Environment): Promise<string[]> {
  const named = kind === undefined ? [] : await namesOf(kind, cluster, env).catch(() => []);
  return [...named.filter((name) => !taken.includes(name)), ...words];
}

async function namesOf(kind: WordKind, cluster: Next["cluster"], env: Environment): Promise<readonly string[]> {
  if (kind === "context") return env.contexts(cluster.kubeconfig);
  const resources = objects[kind];
  if (resources === undefined) return fixed[kind] ?? [];
  const flags =
    kind === "pod" ? { kubeconfig: kubeconfigOf(stateDirectory(cluster.stateDir, env.variables)) } : cluster;
  const late = new AbortController();
  const cancel = env.clock.after(patienceMs, () => late.abort());
  try {
    return await inCluster(flags, env, async ({ client, namespace }) => {
      const lists = await Promise.all(
        resources.map((resource) =>
          client.transport.request<KubeList<KubeObject>>({
            method: "GET",
            path: pathOf(resource, { namespace }),
            query: { limit: String(mostNames) },
            accept,
            signal: late.signal,
          }),
        ),
      );
      return lists.flatMap(({ items }) => items.map(({ metadata }) => metadata.name));
    });
  } finally {
    cancel();
  }
}
