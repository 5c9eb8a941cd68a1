import { annotations } from "#api/labels.ts";
import { parseTime } from "#api/time.ts";
import { hasEnded, isDeleting, isReady as isPodReady } from "#controllers/pods.ts";
import type { Pod, ReplicaSet } from "#kube/builtin.ts";

/** Of Pods with this deletion cost a ReplicaSet lets go first; all others have cost 0. */
export const leavingCost = "-1000";

/** A Pod of the pool and what it holds. */
export interface PoolPod {
  readonly pod: Pod;
  /** Runs assigned to it that have not ended. */
  readonly activeRuns: number;
  /** It holds a workspace whose files are still needed. */
  readonly holdsWorkspace: boolean;
}

export interface Seen {
  readonly replicas: number;
  readonly drainTimeoutMs: number;
  /** The ReplicaSet of the current template; undefined before it was made. */
  readonly current: { readonly set: ReplicaSet; readonly pods: readonly PoolPod[] } | undefined;
  /** Those of earlier templates. */
  readonly old: readonly { readonly set: ReplicaSet; readonly pods: readonly PoolPod[] }[];
}

/** One change to the pool. Each is idempotent and derived again from what is seen. */
export type PoolChange =
  | { readonly kind: "create"; readonly replicas: number }
  /** Marks a Pod as draining (it gets no new work), or takes the mark back. */
  | { readonly kind: "drain"; readonly pod: Pod }
  | { readonly kind: "undrain"; readonly pod: Pod }
  /** Makes the ReplicaSet smaller by exactly these Pods. */
  | { readonly kind: "shrink"; readonly set: ReplicaSet; readonly replicas: number; readonly pods: readonly Pod[] }
  | { readonly kind: "grow"; readonly set: ReplicaSet; readonly replicas: number }
  | { readonly kind: "remove"; readonly set: ReplicaSet };

export interface Plan {
  readonly changes: readonly PoolChange[];
  /** Milliseconds until a drain ends by its timeout; undefined when nothing waits for that. */
  readonly nextDeadlineMs: number | undefined;
}

const isGone = ({ pod }: PoolPod) => isDeleting(pod) || hasEnded(pod);
const isReady = ({ pod }: PoolPod) => isPodReady(pod);
const isLeaving = ({ pod }: PoolPod) => pod.metadata.annotations?.[annotations.deletionCost] === leavingCost;
const drainingSince = ({ pod }: PoolPod) => parseTime(pod.metadata.annotations?.[annotations.draining]);
const isIdle = (one: PoolPod) => one.activeRuns === 0 && !one.holdsWorkspace;

/**
 * What the pool needs now.
 *
 * S1  no ReplicaSet of the current template          -> create it with all replicas
 * S2  old Pods, new ones not ready yet               -> the old ones keep working, as many as are missing
 * S3  old Pods, enough new ones ready                -> the old ones drain, idle ones go
 * S4  more replicas wanted                           -> take drain marks back first, then grow
 * S5  fewer replicas wanted                          -> the emptiest Pods drain, idle ones go
 * S6  a Pod has drained for longer than the timeout  -> it goes with what it holds
 * S7  an old ReplicaSet without Pods                 -> remove it
 */
export function observe(seen: Seen, now: number): Plan {
  if (seen.current === undefined) {
    return { changes: [{ kind: "create", replicas: seen.replicas }], nextDeadlineMs: undefined };
  }
  const changes: PoolChange[] = [];
  const deadlines: number[] = [];
  const current = shapeCurrent(seen.current, seen, now, deadlines);
  changes.push(...current);

  const takesWork = (one: PoolPod) => isReady(one) && drainingSince(one) === undefined;
  const newReady = livingOf(seen.current.set, seen.current.pods).filter(takesWork).length;
  let missing = Math.max(0, seen.replicas - newReady);
  for (const { set, pods } of seen.old) {
    const living = livingOf(set, pods);
    if (living.length === 0 && (set.spec.replicas ?? 0) === 0) {
      changes.push({ kind: "remove", set });
      continue;
    }
    // A Pod that is not ready serves nobody: it need not wait for its successor.
    const kept = living.filter(takesWork).slice(0, missing);
    missing -= kept.length;
    const leaving = living.filter((one) => !kept.includes(one));
    changes.push(...markDraining(leaving), ...letGo(set, leaving, living.length, seen, now, deadlines));
  }
  return { changes, nextDeadlineMs: deadlines.length === 0 ? undefined : Math.max(0, Math.min(...deadlines)) };
}

function shapeCurrent(
  { set, pods }: { set: ReplicaSet; pods: readonly PoolPod[] },
  seen: Seen,
  now: number,
  deadlines: number[],
): PoolChange[] {
  const living = livingOf(set, pods);
  const draining = living.filter((one) => drainingSince(one) !== undefined);
  const asked = set.spec.replicas ?? 1;
  const surplus = asked - draining.length - seen.replicas;
  if (surplus < 0) {
    const back = draining.slice(0, -surplus);
    const grow = -surplus - back.length;
    return [
      ...back.map(({ pod }): PoolChange => ({ kind: "undrain", pod })),
      ...(grow > 0 ? [{ kind: "grow", set, replicas: asked + grow } as const] : []),
    ];
  }
  // Replicas for which no Pod exists yet cost nobody anything; the rest follows in the next pass.
  const unborn = Math.min(surplus, Math.max(0, asked - living.length));
  if (unborn > 0) return [{ kind: "shrink", set, replicas: asked - unborn, pods: [] }];
  const staying = living.filter((one) => drainingSince(one) === undefined);
  const leaving = surplus === 0 ? draining : [...draining, ...staying.sort(emptiestFirst).slice(0, surplus)];
  return [...markDraining(leaving), ...letGo(set, leaving, asked, seen, now, deadlines)];
}

/**
 * The Pods of a ReplicaSet that stay until more is changed. Those that its number of replicas has no place for were let
 * go: between that write and their deletion they look alive, and must not be counted a second time.
 */
function livingOf(set: ReplicaSet, pods: readonly PoolPod[]): PoolPod[] {
  const existing = pods.filter((one) => !isGone(one));
  let doomed = Math.max(0, existing.length - (set.spec.replicas ?? 1));
  return existing.filter((one) => !isLeaving(one) || doomed-- <= 0);
}

const emptiestFirst = (a: PoolPod, b: PoolPod) =>
  Number(isReady(a)) - Number(isReady(b)) ||
  Number(a.holdsWorkspace) - Number(b.holdsWorkspace) ||
  a.activeRuns - b.activeRuns ||
  (a.pod.metadata.name < b.pod.metadata.name ? -1 : 1);

const markDraining = (pods: readonly PoolPod[]): PoolChange[] =>
  pods.filter((one) => drainingSince(one) === undefined).map(({ pod }) => ({ kind: "drain", pod }));

/** Of the draining Pods those that are idle, or out of time, leave their ReplicaSet. */
function letGo(
  set: ReplicaSet,
  leaving: readonly PoolPod[],
  replicas: number,
  seen: Seen,
  now: number,
  deadlines: number[],
): PoolChange[] {
  const over: PoolPod[] = [];
  for (const one of leaving) {
    const since = drainingSince(one);
    // The mark comes first: an assignment on its way could still meet an unmarked Pod.
    if (since === undefined) continue;
    const left = since + seen.drainTimeoutMs - now;
    if (isIdle(one) || left <= 0) over.push(one);
    else deadlines.push(left);
  }
  const wanted = replicas - over.length;
  if (over.length === 0 && (set.spec.replicas ?? 1) === wanted) return [];
  return [{ kind: "shrink", set, replicas: wanted, pods: over.map(({ pod }) => pod) }];
}
