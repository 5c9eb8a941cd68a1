import { runs } from "#api/resources.ts";
import { unfinishedRuns } from "#api/runs.ts";
import { sleep } from "#kube/ports.ts";
import { runLayout } from "#runtime/files/layout.ts";
import { listRuns, removeRun } from "#runtime/files/runs.ts";
import type { AgentDeps } from "./deps.ts";
import { patiently } from "./patience.ts";
import { isTransientApiError } from "./run-status-writer.ts";

/** How soon files that could not go yet are looked at again, in milliseconds: they only take room. */
const againMs = 60_000;

/** Runs in one answer. */
const pageSize = 500;

/**
 * Removes the directories of Runs that an earlier process of the agent left, each when its Run is over. A Run that goes on
 * keeps them, wherever it is: Pods may share one volume (a claim that several of them mount), so the directory may be at
 * work in another Pod, or will be at any moment. So this resolves only when none is left that is not ours.
 *
 * @param isOurs whether the Run of that UID is at work here, and removes its directory itself
 */
export async function removeStrayFiles(
  deps: AgentDeps,
  isOurs: (runUid: string) => boolean,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    try {
      if ((await removeOnce(deps, isOurs, signal)) === 0) return;
    } catch (error) {
      if (signal.aborted) return;
      deps.logger.warn("files of ended Runs cannot be removed; trying again", { error });
    }
    await sleep(deps.clock, againMs, signal);
  }
}

/** @returns how many are left because their Runs are not over */
async function removeOnce(deps: AgentDeps, isOurs: (runUid: string) => boolean, signal: AbortSignal): Promise<number> {
  const { files } = deps;
  const strays = new Set((await listRuns(files)).filter((uid) => !isOurs(uid)));
  if (strays.size === 0) return 0;
  const kept = await unfinishedOf(strays, deps, signal);
  for (const runUid of strays) {
    if (kept.has(runUid)) continue;
    signal.throwIfAborted();
    await removeRun(files, runLayout(files.root, { runUid, attempt: 1 }));
  }
  return kept.size;
}

/** Those of some Runs that are not over. In pages: an agent has little memory, and a queue may be long. */
async function unfinishedOf(
  uids: ReadonlySet<string>,
  { client, clock, random, self }: AgentDeps,
  signal: AbortSignal,
): Promise<ReadonlySet<string>> {
  const found = new Set<string>();
  let next: string | undefined;
  do {
    const options = { namespace: self.namespace, fieldSelector: unfinishedRuns, limit: pageSize, signal };
    const list = () => client.of(runs).list({ ...options, ...(next && { continue: next }) });
    const page = await patiently(list, { clock, random, signal, isTransient: isTransientApiError });
    for (const { metadata } of page.items) if (uids.has(metadata.uid ?? "")) found.add(metadata.uid ?? "");
    next = page.metadata.continue || undefined;
  } while (next !== undefined);
  return found;
}
