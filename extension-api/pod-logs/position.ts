import type { Position } from "../logs/ports.ts";

/**
 * A place in the log of a container that Kubernetes keeps: after the `nth` record that was stored at `time`. The kubelet knows
 * no offsets; what it stores with each line is the time at which the container runtime took it, in nanoseconds.
 */
export interface StoredAt {
  /** Nanoseconds since the epoch, 19 digits (until the year 2286): texts compare as the times do. */
  readonly time: string;
  /** From 1; more than 1 where several records were stored at once; 0 before the first of them. */
  readonly nth: number;
}

const form = /^(\d{19})(?:\.(\d{1,6}))?$/;

export const positionOf = ({ time, nth }: StoredAt): Position => (nth === 1 ? time : `${time}.${nth}`);

/** Undefined for what no {@link positionOf} has written. */
export function parsePosition(position: Position): StoredAt | undefined {
  const [, time, nth = "1"] = form.exec(position) ?? [];
  return time === undefined || nth === "0" ? undefined : { time, nth: Number(nth) };
}

export function compareStored(a: StoredAt, b: StoredAt): number {
  if (a.time !== b.time) return a.time < b.time ? -1 : 1;
  return a.nth - b.nth;
}

/** Before everything that was stored at a time or later, in milliseconds since the epoch; undefined: before everything. */
export function beforeTime(ms: number): StoredAt | undefined {
  const second = Math.floor(ms / 1000);
  return second >= 1e9 ? { time: `${second}000000000`, nth: 0 } : undefined;
}

/** The whole second that a time is in, as the parameter `sinceTime`, which has no fractions. */
export function secondOf({ time }: Pick<StoredAt, "time">): string {
  return sinceTimeOf(Number(time.slice(0, 10)) * 1000);
}

/** RFC 3339 in whole seconds, not after the given milliseconds since the epoch. */
export function sinceTimeOf(ms: number): string {
  return `${new Date(Math.max(0, Math.floor(ms / 1000) * 1000)).toISOString().slice(0, 19)}Z`;
}
