import { formatDuration, maxDurationMs, parseDuration } from "../duration.ts";
import type { FieldError } from "../field-error.ts";
import { invalid } from "./rule.ts";

/** Bounds of a duration in milliseconds, both included. */
export interface DurationBounds {
  /** Default 1 ms: a limit of no time at all is a mistake. */
  readonly minMs?: number;
  /** Default one year. */
  readonly maxMs?: number;
}

/** Checks a duration of a spec; an absent one is fine. */
export function checkDuration(
  path: string,
  text: string | undefined,
  { minMs = 1, maxMs = maxDurationMs }: DurationBounds = {},
): FieldError[] {
  if (text === undefined) return [];
  const ms = parseDuration(text);
  if (ms === undefined) {
    return [invalid(path, `"${text}" is no duration`, "Write a number with a unit: 250ms, 90s, 5m, 1h30m.")];
  }
  if (ms >= minMs && ms <= maxMs) return [];
  const bounds = `${formatDuration(minMs)} to ${formatDuration(maxMs)}`;
  return [invalid(path, `${text} is not within ${bounds}`, `Write a duration of ${bounds}.`)];
}
