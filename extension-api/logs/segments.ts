import type { Run } from "#api/kinds/run.ts";
import { isTerminal } from "#api/runs.ts";
import { parseTime } from "#api/time.ts";
import { type Place, podKey } from "./cursor.ts";

/** Consecutive attempts of a Run whose records are in the log of one Pod. */
export interface Segment {
  readonly pod: string;
  /** Known of the Pod that the Run is assigned to. */
  readonly podUid: string | undefined;
  /** First and last attempt. */
  readonly from: number;
  readonly to: number;
  /** The Run is assigned to this Pod, now or when it ended. */
  readonly assigned: boolean;
  /** Without this Pod the request cannot be answered. The loss of others is told in the log. */
  readonly required: boolean;
  /** When its first attempt began, by the clock of its node, in milliseconds since the epoch; undefined when nobody knows. */
  readonly startedMs: number | undefined;
  /** When its last attempt ended, in milliseconds since the epoch; undefined while it goes on. */
  readonly endedMs: number | undefined;
}

/**
 * Where the log of a Run is: attempts that are over, then the assignment there is. Attempts may have run on different
 * Pods, and on the same Pod again after another.
 *
 * @param only this attempt
 */
export function segmentsOf(run: Run, only?: number): Segment[] {
  const segments: Segment[] = [];
  const {
    attempts = [],
    assignedPod,
    assignedPodUID,
    attempt = 0,
    phase,
    startTime,
    completionTime,
  } = run.status ?? {
    phase: "Pending",
  };
  const add = (next: Segment) => {
    const last = segments.at(-1);
    if (last?.pod === next.pod) {
      segments[segments.length - 1] = { ...next, from: last.from, startedMs: last.startedMs };
    } else segments.push(next);
  };
  for (const { number, pod, startTime, endTime } of attempts) {
    // The status keeps the latest attempts only: older ones are looked for where the first of these was.
    const from = segments.length === 0 ? 1 : number;
    if (pod === undefined) continue;
    const startedMs = from === number ? parseTime(startTime) : undefined;
    const endedMs = parseTime(endTime);
    add({ pod, podUid: undefined, from, to: number, assigned: false, required: false, startedMs, endedMs });
  }
  if (assignedPod !== undefined) {
    const from = (attempts.at(-1)?.number ?? 0) + 1;
    const to = Math.max(from, phase === "Scheduled" ? attempt + 1 : attempt);
    const endedMs = parseTime(completionTime);
    // Until the Pod has claimed it, the time is that of the attempt before.
    const startedMs = attempt === from && phase !== "Scheduled" ? parseTime(startTime) : undefined;
    add({ pod: assignedPod, podUid: assignedPodUID, from, to, assigned: true, required: true, startedMs, endedMs });
  }
  if (only === undefined) return segments;
  return segments
    .filter(({ from, to }) => from <= only && only <= to)
    .map((segment) => {
      const startedMs = segment.from === only ? segment.startedMs : undefined;
      return { ...segment, from: only, to: only, required: true, startedMs };
    });
}

/** Whether no record will come any more: the Run has ended, or the only attempt that is wanted. */
export function isOver(run: Run, only?: number): boolean {
  const { phase, attempt = 0, attempts = [] } = run.status ?? { phase: "Pending" as const };
  if (isTerminal(phase)) return true;
  return only !== undefined && (attempt > only || attempts.some(({ number }) => number === only));
}

/** The segment to read next; undefined when everything there is was delivered. */
export function segmentAt(segments: readonly Segment[], place: Place): Segment | undefined {
  return segments.find(({ to }) => to >= place.attempt);
}

/** Where in a Pod's log to read on; undefined: from its beginning, since the place is in another Pod's. */
export function positionIn(podUid: string, { at }: Place): string | undefined {
  return at?.pod === podKey(podUid) ? at.position : undefined;
}
