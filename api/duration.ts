/** Milliseconds of each unit that a duration may use. */
const unitMs: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

const whole = /^(?:\d+(?:\.\d+)?(?:ms|s|m|h))+$/;
const part = /(\d+)(?:\.(\d+))?(ms|s|m|h)/g;

/** Digits behind the point that are looked at: as many as a double holds. */
const exactDigits = 15;

/** Longest duration that admission accepts: one year. Deadlines stay far below the limits of dates and timers. */
export const maxDurationMs = 8760 * 3_600_000;

/**
 * Milliseconds of a duration as Go writes it: `90s`, `5m`, `1h30m`, `1.5s`, `250ms`. Absent text gives `undefined`, and
 * so does text that is no duration: admission refuses it before anybody computes a deadline from it.
 */
export function parseDuration(text: string | undefined): number | undefined {
  if (text === undefined || !whole.test(text)) return undefined;
  let ms = 0;
  for (const [, amount, fraction = "", unit = ""] of text.matchAll(part)) {
    const size = unitMs[unit] ?? Number.NaN;
    // As whole numbers: 8.05 times 1000 is a little more than 8050.
    const digits = fraction.slice(0, exactDigits);
    ms += Number(amount) * size + (Number(digits) * size) / 10 ** digits.length;
  }
  return Number.isFinite(ms) ? ms : undefined;
}

/**
 * The text of a duration in milliseconds: `0s`, `0.25ms`, `250ms`, `1.234s`, `1m30s`, `25h0m1s`. Below one second it is exact to a
 * microsecond, above to a millisecond; negative values count as 0. {@link parseDuration} reads it back.
 */
export function formatDuration(ms: number): string {
  const micros = Math.round(Math.max(0, ms) * 1000);
  if (micros === 0) return "0s";
  if (micros < 1_000_000) return `${micros / 1000}ms`;
  const wholeMs = Math.round(micros / 1000);
  const hours = Math.floor(wholeMs / 3_600_000);
  const minutes = Math.floor(wholeMs / 60_000) % 60;
  const seconds = `${(wholeMs % 60_000) / 1000}s`;
  if (hours > 0) return `${hours}h${minutes}m${seconds}`;
  return minutes > 0 ? `${minutes}m${seconds}` : seconds;
}
