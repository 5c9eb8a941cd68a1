import type { ArtifactRef } from "#api/kinds/artifact-ref.ts";
import { nodeLayout } from "#local/node/layout.ts";
import type { View } from "../progress/view.ts";

/** Log of the components of the cluster, in the state directory. */
export const clusterLog = (directory: string): string => `${directory}/cluster.log`;

/** Tells where things are in a state directory that is kept. */
export function keptLines(directory: string, view: View | undefined): string[] {
  const artifacts = (view === undefined ? [] : artifactsOf(view)).map(
    ([namespace, ref]) => `  artifact ${ref.name}: ${artifactPath(directory, namespace, ref)}`,
  );
  return [
    `Kept ${directory}; remove it when you are done with it.`,
    ...artifacts,
    `  workspaces: ${directory}/pods/*/workspace/persistent/`,
    `  output of Runs: ${directory}/pods/*/runtimed.log`,
    `  log of the cluster: ${clusterLog(directory)}`,
  ];
}

function artifactsOf({ workflowRuns, runs }: View): [namespace: string, ref: ArtifactRef][] {
  const ofWorkflows = workflowRuns.flatMap(({ metadata, status }) =>
    Object.values(status?.jobs ?? {}).flatMap((job) =>
      Object.values(job.artifacts ?? {}).map((ref) => [metadata.namespace ?? "default", ref] as [string, ArtifactRef]),
    ),
  );
  const ofRuns = runs.flatMap(({ metadata, status }) =>
    (status?.artifactRefs ?? []).map((ref) => [metadata.namespace ?? "default", ref] as [string, ArtifactRef]),
  );
  return [...ofWorkflows, ...ofRuns];
}

function artifactPath(directory: string, namespace: string, { location }: ArtifactRef): string {
  const { volumeClaimName = "", path = "" } = location.filesystem ?? {};
  return `${nodeLayout(directory).claim(namespace, volumeClaimName)}/${path}`;
}
