const minute = 60;
const hour = 60 * minute;
const day = 24 * hour;
const year = 365 * day;

/**
 * How kubectl writes an age: the two largest units while the larger one is small, then one (`95s`, `5m30s`, `2h`, `3d4h`).
 *
 * @param milliseconds a little below zero counts as zero, because clocks differ
 */
export function humanDuration(milliseconds: number): string {
  const seconds = Math.trunc(milliseconds / 1000);
  if (seconds < -1) return "<invalid>";
  if (seconds < 2 * minute) return `${Math.max(0, seconds)}s`;
  if (seconds < 10 * minute) return two(seconds, minute, "m", 1, "s");
  if (seconds < 3 * hour) return `${Math.trunc(seconds / minute)}m`;
  if (seconds < 8 * hour) return two(seconds, hour, "h", minute, "m");
  if (seconds < 2 * day) return `${Math.trunc(seconds / hour)}h`;
  if (seconds < 8 * day) return two(seconds, day, "d", hour, "h");
  if (seconds < 2 * year) return `${Math.trunc(seconds / day)}d`;
  if (seconds < 8 * year) return two(seconds, year, "y", day, "d");
  return `${Math.trunc(seconds / year)}y`;
}

function two(seconds: number, large: number, largeName: string, small: number, smallName: string): string {
  const rest = Math.trunc((seconds % large) / small);
  return `${Math.trunc(seconds / large)}${largeName}${rest === 0 ? "" : `${rest}${smallName}`}`;
}

/** Time since a moment of the API, `<unknown>` where there is none. */
export function age(time: unknown, now: number): string {
  if (typeof time !== "string" || time === "") return "<unknown>";
  const at = Date.parse(time);
  return Number.isNaN(at) ? "<invalid>" : humanDuration(now - at);
}
