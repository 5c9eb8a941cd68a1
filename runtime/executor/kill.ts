/** Ends all processes of an execution, wherever they hid. */
import { type Clock, sleep } from "#kube/ports.ts";
import type { Marks } from "#runtime/executor/environment.ts";
import type { ProcessEntry, Processes, ProcessSignal } from "#runtime/executor/proc-scan.ts";

/** First process of an execution; it leads a process group and a session, both with its number. */
export interface Leader {
  readonly pid: number;
  /** Aborted when it has ended; from then on its number may be given to others. */
  readonly exited: AbortSignal;
}

export interface KillTarget {
  /** Absent when only marks are known. */
  readonly leader?: Leader;
  /** Whether a marked process belongs to the target. */
  readonly owns: (marks: Marks) => boolean;
}

/** When SIGKILL is due, on the monotonic clock. Whoever is in more of a hurry may lower it while the killing goes on. */
export interface Grace {
  due: number;
}

export interface KillWorld {
  readonly clock: Clock;
  readonly processes: Processes;
}

const firstPollMs = 2;
const longestPollMs = 100;

/**
 * SIGTERM once to everything there is, SIGKILL to all that is left when the grace is over, until two scans in a row find
 * nothing: a process in the middle of an exec shows no environment for a moment. Only what existed at the start gets SIGTERM,
 * so that the clean-up commands of a program that handles it may run.
 *
 * @returns how many processes were found.
 */
export async function killAll(target: KillTarget, grace: Grace, { clock, processes }: KillWorld): Promise<number> {
  const exited = target.leader?.exited;
  const found = new Set<number>();
  let poll = firstPollMs;
  let cleanScans = 0;
  let killed = false;
  for (let first = true; ; first = false) {
    const members = membersOf(target, processes.scan());
    for (const { pid } of members) found.add(pid);
    if (members.length === 0) {
      if (++cleanScans === 2) return found.size;
      await sleep(clock, firstPollMs);
      continue;
    }
    cleanScans = 0;
    const left = grace.due - clock.monotonic();
    if (left <= 0) {
      signalAll(members, target, processes, "SIGKILL");
      if (!killed) poll = firstPollMs; // nothing resists this signal: the end is near
      killed = true;
    } else if (first) {
      signalAll(members, target, processes, "SIGTERM");
      signalAll(members, target, processes, "SIGCONT"); // a stopped process takes SIGTERM only when it goes on
    }
    // The end of the leader is known without polling; that of the others is not.
    await sleep(clock, left <= 0 ? poll : Math.min(poll, left), exited?.aborted ? undefined : exited);
    poll = Math.min(poll * 2, longestPollMs);
  }
}

/** Whether a scan finds any process of the target now. */
export function anyLeft(target: KillTarget, processes: Processes): boolean {
  return membersOf(target, processes.scan()).length > 0;
}

function signalAll(
  members: readonly ProcessEntry[],
  target: KillTarget,
  processes: Processes,
  signal: ProcessSignal,
): void {
  const group = target.leader?.pid;
  // One call for the whole group: the kernel leaves no gap in which a fork could slip through.
  if (group !== undefined && members.some((member) => member.group === group)) processes.signal(-group, signal);
  for (const member of members) if (member.group !== group) processes.signal(member.pid, signal);
}

/**
 * Marked processes, those of the leader's group and session (`timeout` makes a group of its own, but stays in the session), and
 * all their descendants (some overwrite or drop their environment).
 */
export function membersOf(target: KillTarget, all: readonly ProcessEntry[]): readonly ProcessEntry[] {
  const owned = new Set<ProcessEntry>();
  const children = Map.groupBy(all, (entry) => entry.parent);
  const add = (entry: ProcessEntry) => {
    if (owned.has(entry)) return;
    owned.add(entry);
    for (const child of children.get(entry.pid) ?? []) add(child);
  };
  const leader = leaderNumber(target, all);
  for (const entry of all) {
    const marked = entry.marks !== undefined && target.owns(entry.marks);
    if (marked || entry.group === leader || entry.session === leader) add(entry);
  }
  return [...owned];
}

/** The number of a leader that has ended may have been given to a foreign process; that one carries no mark of ours. */
function leaderNumber({ leader, owns }: KillTarget, all: readonly ProcessEntry[]): number | undefined {
  if (leader === undefined || !leader.exited.aborted) return leader?.pid;
  const holder = all.find((entry) => entry.pid === leader.pid);
  return holder === undefined || (holder.marks !== undefined && owns(holder.marks)) ? leader.pid : undefined;
}
