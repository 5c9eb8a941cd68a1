import type { Run } from "#api/kinds/run.ts";
import { runs } from "#api/resources.ts";
import { isTerminal } from "#api/runs.ts";
import { withStatus } from "#api/status.ts";
import { orNothing } from "#kube/or-nothing.ts";
import { isConflict, isNotFound, StatusError, TransportError } from "#kube/transport.ts";
import { step } from "#machines/lib/settle.ts";
import { type RunEvent, restoreRun, runMachine, runStatus } from "#machines/run.ts";
import type { AgentDeps } from "./deps.ts";
import { patiently } from "./patience.ts";

/**
 * What came of a write: stored (by this call, or by an earlier one whose answer was lost), or not ours to write. `basis` is
 * the resourceVersion that it replaced, where that is known.
 */
export type Written =
  | { readonly kind: "written"; readonly run: Run; readonly basis: string | undefined }
  | { readonly kind: "fenced" };

/** An answer that says nothing about the object: it is asked again. A permission that is missing may be given later. */
export const isTransientApiError = (error: unknown): boolean =>
  error instanceof TransportError ||
  isConflict(error) ||
  (error instanceof StatusError && (error.code >= 500 || [401, 403, 429].includes(error.code)));

/** Whether the Run is assigned to this very Pod under this very assignment, and has not ended. */
export function isOurs(run: Run, deps: AgentDeps, epoch: number): boolean {
  const { status } = run;
  return (
    status?.assignedPodUID === deps.self.podUid &&
    status.assignmentEpoch === epoch &&
    !isTerminal(status.phase) &&
    run.metadata.deletionTimestamp === undefined
  );
}

/**
 * Writes the move that `eventAt` describes, on the resourceVersion that it was decided on. Lost answers and conflicts
 * are settled by a live read: as long as the Run is ours and the move is still open it is tried again.
 *
 * @param isDone whether a Run that was read live shows that an earlier try of this write was stored
 */
export async function writeMove(
  deps: AgentDeps,
  first: Run,
  eventAt: (now: number) => RunEvent,
  isDone: (live: Run) => boolean,
  signal: AbortSignal,
): Promise<Written> {
  const client = deps.client.of(runs);
  const epoch = first.status?.assignmentEpoch ?? 0;
  let run = first;
  let mustRead = false;
  return patiently<Written>(
    async () => {
      if (mustRead) {
        const live = await readLive(deps, first);
        if (live === undefined) return { kind: "fenced" };
        if (isDone(live)) return { kind: "written", run: live, basis: undefined };
        if (!isOurs(live, deps, epoch)) return { kind: "fenced" };
        run = live;
      }
      if (!isOurs(run, deps, epoch)) return { kind: "fenced" };
      const moved = step(runMachine, restoreRun(run.status), eventAt(deps.clock.now()));
      // The chart has no such move from here: somebody else has moved the Run on.
      if (!moved.changed) return { kind: "fenced" };
      mustRead = true;
      try {
        const written = await client.update(withStatus(run, runStatus(moved.snapshot)), "status");
        return { kind: "written", run: written, basis: run.metadata.resourceVersion };
      } catch (error) {
        if (isNotFound(error)) return { kind: "fenced" };
        throw error;
      }
    },
    { clock: deps.clock, random: deps.random, signal, isTransient: isTransientApiError, baseMs: 20 },
  );
}

async function readLive(deps: AgentDeps, first: Run): Promise<Run | undefined> {
  const live = await orNothing(deps.client.of(runs).get(first.metadata));
  return live?.metadata.uid === first.metadata.uid ? live : undefined;
}
