/** Times and durations as they stand in status fields. Machines get `now` in their events and never read a clock. */

/**
 * RFC 3339 with microseconds (metav1.MicroTime): `2026-07-06T12:00:00.123456Z`.
 * @param ms milliseconds since the epoch; a fraction is kept down to microseconds.
 */
export function timestamp(ms: number): string {
  const whole = Math.floor(ms);
  const micros = Math.floor((ms - whole) * 1000);
  return `${new Date(whole).toISOString().slice(0, -1)}${String(micros).padStart(3, "0")}Z`;
}

/**
 * The inverse of {@link timestamp}: milliseconds since the epoch, with a fraction for what is below a millisecond
 * (`Date.parse` alone would drop it). `NaN` when the text is no RFC 3339 time.
 */
export function milliseconds(time: string): number {
  const match = /^(.*T\d{2}:\d{2}:\d{2})(?:\.(\d+))?(Z|[+-]\d{2}:\d{2})$/.exec(time);
  if (match === null) return Number.NaN;
  const [, seconds, fraction, zone] = match;
  const base = Date.parse(`${seconds}${zone}`);
  return base + (fraction === undefined ? 0 : Number(`0.${fraction}`) * 1000);
}

const unitMs: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

/**
 * Milliseconds of a duration as Go writes it (`90s`, `1h30m`, `250ms`).
 * @throws RangeError when the text is not one; schemas refuse such text before it gets here.
 */
export function parseDuration(text: string): number {
  if (!/^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$/.test(text)) {
    throw new RangeError(`"${text}" is no duration; write for example 90s, 5m, 1h30m or 250ms`);
  }
  let total = 0;
  for (const [, amount, unit] of text.matchAll(/([0-9]+(?:\.[0-9]+)?)(ms|s|m|h)/g)) {
    total += Number(amount) * (unitMs[unit ?? ""] ?? 0);
  }
  return total;
}

/** A length of time for people, to the millisecond, in the form that {@link parseDuration} reads: `1m3.25s`. */
export function formatDuration(ms: number): string {
  const rounded = Math.max(0, Math.round(ms));
  if (rounded < 1000) return `${rounded}ms`;
  const hours = Math.floor(rounded / 3_600_000);
  const minutes = Math.floor((rounded % 3_600_000) / 60_000);
  const seconds = (rounded % 60_000) / 1000;
  return `${hours > 0 ? `${hours}h` : ""}${minutes > 0 ? `${minutes}m` : ""}${seconds > 0 ? `${seconds}s` : ""}`;
}
