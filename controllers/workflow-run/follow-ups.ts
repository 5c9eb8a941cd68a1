import type { PersistentWorkspace } from "#api/kinds/persistent-workspace.ts";
import type { Run } from "#api/kinds/run.ts";
import type { WorkflowRunStatus } from "#api/kinds/workflow-run.ts";
import { labels } from "#api/labels.ts";
import { isTerminal } from "#api/runs.ts";
import { hasEnded } from "#api/workflow-phases.ts";
import { isActive } from "#machines/derive.ts";
import type { Seen } from "./seen.ts";

/** What follows from a stored status for objects that it has no step or job for any more. */
export interface FollowUps {
  /** Child Runs that nobody waits for: replaced, or of a step that was given up. They are asked to end. */
  readonly abandoned: readonly Run[];
  /** Workspaces of job attempts that are over: they get their TTL now, and not before. */
  readonly unneeded: readonly PersistentWorkspace[];
}

/** It may still be at work, and was not asked to end. */
export const isUnasked = ({ spec, status, metadata }: Run): boolean =>
  !isTerminal(status?.phase) && metadata.deletionTimestamp === undefined && spec.termination === undefined;

/** It would stay for ever. */
export const lacksTtl = ({ spec, metadata }: PersistentWorkspace): boolean =>
  spec.ttlSecondsAfterUnused === undefined && metadata.deletionTimestamp === undefined;

/** Which objects a WorkflowRun with this status, just stored, does not need any more. */
export function followUps(seen: Seen, status: WorkflowRunStatus): FollowUps {
  const wanted = new Set<string>();
  for (const job of Object.values(status.jobs ?? {})) {
    for (const step of (job.steps ?? []).flatMap((each) => [each, ...(each.steps ?? [])])) {
      if (isActive(step) && step.runName !== undefined) wanted.add(step.runName);
    }
  }
  const abandoned: Run[] = [];
  for (const found of seen.runs.values()) {
    if (found.kind !== "ours") continue;
    const { object } = found;
    if (isUnasked(object) && !wanted.has(object.metadata.name)) abandoned.push(object);
  }
  const unneeded: PersistentWorkspace[] = [];
  for (const found of seen.workspaces.values()) {
    if (found.kind !== "ours") continue;
    const { object } = found;
    const { [labels.job]: id = "", [labels.attempt]: attempt } = object.metadata.labels ?? {};
    const job = status.jobs?.[id];
    const isEarlier = Number(attempt ?? 1) < (job?.attempt ?? 1);
    const isOver = job === undefined ? hasEnded(status.phase) : hasEnded(job.phase) || isEarlier;
    if (isOver && lacksTtl(object)) unneeded.push(object);
  }
  return { abandoned, unneeded };
}
