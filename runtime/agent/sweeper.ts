import { runtimes } from "#api/resources.ts";
import { parseTime, timestamp } from "#api/time.ts";
import { apiVersionOf, type Lease, leases } from "#kube/builtin.ts";
import { type Random, sleep } from "#kube/ports.ts";
import { isAlreadyExists, isConflict, isNotFound } from "#kube/transport.ts";
import { type SweepDeps, sweepArtifacts } from "./artifact-sweep.ts";

export interface SweeperDeps extends SweepDeps {
  readonly random: Random;
  /** Name of this Pod: who swept last. */
  readonly pod: string;
  readonly runtime: { readonly name: string; readonly uid: string };
  /** Milliseconds between two sweeps of one Runtime; also how long what was just stored is left alone. */
  readonly intervalMs: number;
}

/** Agents of a pool start together and look at the Lease together; up to this part of the interval apart. */
const spread = 1 / 12;

/** Name of the Lease that says when the artifacts of a Runtime were swept. */
export const sweepLease = (runtime: string): string => `runtime-${runtime}-sweep`;

/**
 * Sweeps the artifacts of this agent's Runtime whenever it is due, until `signal` is aborted. The Lease is the turn: who
 * writes it sweeps, and nobody else before it has run out. It is not renewed while a sweep lasts: two sweeps at a time
 * would do no harm, since each of them removes only what nobody refers to. So clocks that differ do no harm either.
 */
export async function runSweeper(deps: SweeperDeps, signal: AbortSignal): Promise<void> {
  const { clock, random, logger, intervalMs } = deps;
  let waitMs = 0;
  while (!signal.aborted) {
    await sleep(clock, waitMs + random.next() * intervalMs * spread, signal);
    if (signal.aborted) return;
    waitMs = intervalMs;
    try {
      const turn = await takeTurn(deps, signal);
      if (turn === "mine") {
        const removed = await sweepArtifacts(deps, intervalMs, signal);
        if (removed.length > 0) logger.info("artifacts that nobody refers to are removed", { runs: removed.length });
      } else {
        waitMs = turn.dueInMs;
      }
    } catch (error) {
      if (!signal.aborted) logger.warn("artifacts cannot be swept; the next turn tries again", { error });
    }
  }
}

/** Writes the Lease if it has run out. */
async function takeTurn(deps: SweeperDeps, signal: AbortSignal): Promise<"mine" | { dueInMs: number }> {
  const { client, clock, namespace, runtime, intervalMs } = deps;
  const api = client.of(leases);
  const lease = await api.get({ namespace, name: sweepLease(runtime.name) }, signal).catch((error: unknown) => {
    if (isNotFound(error)) return undefined;
    throw error;
  });
  const last = parseTime(lease?.spec?.renewTime ?? undefined);
  const dueInMs = last === undefined ? 0 : last + intervalMs - clock.now();
  // A Lease of an earlier Runtime of that name, or from a clock that was far ahead, holds nobody up.
  if (dueInMs > 0 && dueInMs <= intervalMs && isOf(lease, runtime.uid)) return { dueInMs };
  try {
    const mine = leaseOf(deps);
    if (lease === undefined) await api.create(mine);
    else await api.update({ ...mine, metadata: { ...lease.metadata, ...mine.metadata } });
    return "mine";
  } catch (error) {
    if (isConflict(error) || isAlreadyExists(error) || isNotFound(error)) return { dueInMs: intervalMs };
    throw error;
  }
}

const isOf = (lease: Lease | undefined, runtimeUid: string): boolean =>
  lease?.metadata.ownerReferences?.some(({ uid }) => uid === runtimeUid) ?? false;

function leaseOf({ clock, namespace, pod, runtime, intervalMs }: SweeperDeps): Lease {
  return {
    metadata: {
      name: sweepLease(runtime.name),
      namespace,
      // Without `blockOwnerDeletion`, which would need rights on the Runtime.
      ownerReferences: [
        { apiVersion: apiVersionOf(runtimes), kind: runtimes.kind, name: runtime.name, uid: runtime.uid },
      ],
    },
    spec: {
      holderIdentity: pod,
      leaseDurationSeconds: Math.ceil(intervalMs / 1000),
      renewTime: timestamp(clock.now()),
    },
  };
}
