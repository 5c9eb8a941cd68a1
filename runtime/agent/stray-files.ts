import { runs } from "#api/resources.ts";
import { unfinishedRuns } from "#api/runs.ts";
import { runLayout } from "#runtime/files/layout.ts";
import { listRuns, removeRun } from "#runtime/files/runs.ts";
import type { AgentDeps } from "./deps.ts";
import { patiently } from "./patience.ts";
import { isTransientApiError } from "./run-status-writer.ts";

/** Runs that have a Pod and have not ended: as many as the Pods of a namespace hold. */
const placedRuns = `status.phase!=Pending,${unfinishedRuns}`;

/**
 * Removes the directories of Runs that an earlier process of the agent left and that have ended since. Pods may share
 * one volume (a claim that several of them mount), so a directory that is not ours may be at work in another Pod: a Run
 * that has a Pod now keeps its directory.
 *
 * @param isOurs whether the Run of that UID is at work here
 */
export async function removeStrayFiles(
  deps: AgentDeps,
  isOurs: (runUid: string) => boolean,
  signal: AbortSignal,
): Promise<void> {
  const { client, clock, random, files, logger, self } = deps;
  try {
    const strays = (await listRuns(files)).filter((uid) => !isOurs(uid));
    if (strays.length === 0) return;
    const list = () => client.of(runs).list({ namespace: self.namespace, fieldSelector: placedRuns, signal });
    const { items } = await patiently(list, { clock, random, signal, isTransient: isTransientApiError });
    const placed = new Set(items.map(({ metadata }) => metadata.uid));
    for (const runUid of strays) {
      if (!placed.has(runUid)) await removeRun(files, runLayout(files.root, { runUid, attempt: 1 }));
    }
  } catch (error) {
    signal.throwIfAborted();
    // They only take room; the next start tries again.
    logger.warn("files of ended Runs cannot be removed", { error });
  }
}
