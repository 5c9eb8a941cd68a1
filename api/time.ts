const form = /^(\d{4}-\d\d-\d\d)[Tt](\d\d:\d\d:\d\d)(\.\d+)?([Zz]|[+-]\d\d:\d\d)$/;

/**
 * RFC 3339 with microseconds in UTC for milliseconds since the epoch. A double holds today's times to a quarter of a microsecond, so
 * the fraction is rounded: cutting it would make {@link parseTime} and this lose a microsecond with each round.
 */
export function timestamp(epochMs: number): string {
  const wholeMs = Math.floor(epochMs);
  const micros = Math.min(999, Math.round((epochMs - wholeMs) * 1000));
  return `${new Date(wholeMs).toISOString().slice(0, -1)}${String(micros).padStart(3, "0")}Z`;
}

/**
 * Milliseconds since the epoch, with a fraction for microseconds, of an RFC 3339 time. Absent text gives `undefined`, and so
 * does text that is no such time (the API server refuses it in fields of format `date-time`).
 */
export function parseTime(text: string | undefined): number | undefined {
  const match = text === undefined ? null : form.exec(text);
  if (match === null) return undefined;
  const [, date, time, fraction = "", zone = "Z"] = match;
  const seconds = Date.parse(`${date}T${time}${zone.toUpperCase()}`);
  if (Number.isNaN(seconds)) return undefined;
  // Date.parse cuts at milliseconds; whole microseconds keep parse and print inverse to each other.
  const micros = fraction === "" ? 0 : Number(fraction.slice(1, 7).padEnd(6, "0"));
  return seconds + micros / 1000;
}
