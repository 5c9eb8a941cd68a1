import type { ArtifactRef } from "#api/kinds/artifact-ref.ts";
import type { Run } from "#api/kinds/run.ts";
import type { WorkflowRun } from "#api/kinds/workflow-run.ts";

/** A stored artifact, and whose status says so. */
export interface ArtifactEntry {
  /** Name that it is listed by. */
  readonly name: string;
  /** Job of the WorkflowRun. */
  readonly job?: string;
  readonly holder: ArtifactHolder;
  readonly ref: ArtifactRef;
}

export interface ArtifactHolder {
  readonly kind: "Run" | "WorkflowRun";
  readonly namespace: string;
  readonly name: string;
}

/** The artifacts that a Run has stored. */
export function artifactsOfRun({ metadata, status }: Run): ArtifactEntry[] {
  const holder = { kind: "Run", namespace: metadata.namespace ?? "", name: metadata.name } as const;
  return (status?.artifactRefs ?? []).map((ref) => ({ name: ref.name, holder, ref }));
}

/** The artifacts of all jobs of a WorkflowRun, in the order of jobs and names. */
export function artifactsOfWorkflowRun({ metadata, status }: WorkflowRun): ArtifactEntry[] {
  const holder = { kind: "WorkflowRun", namespace: metadata.namespace ?? "", name: metadata.name } as const;
  return Object.entries(status?.jobs ?? {}).flatMap(([job, { artifacts = {} }]) =>
    Object.entries(artifacts).map(([name, ref]) => ({ name, job, holder, ref })),
  );
}

/** What an agent is asked for: path and query. `undefined` when the reference leads to no artifact of a Run. */
export function agentPath({ ref, holder }: Pick<ArtifactEntry, "ref" | "holder">): string | undefined {
  const { filesystem, s3 } = ref.location;
  const [, runUid, name] = /(?:^|\/)runs\/([^/]+)\/artifacts\/([^/]+)$/.exec(filesystem?.path ?? s3?.key ?? "") ?? [];
  if (runUid === undefined || name === undefined) return undefined;
  const query = new URLSearchParams({ [holder.kind === "Run" ? "run" : "workflowRun"]: holder.name });
  return `/runs/${encodeURIComponent(runUid)}/artifacts/${encodeURIComponent(name)}?${query}`;
}
