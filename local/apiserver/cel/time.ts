import { CelError } from "./errors.ts";

/** Fields of format `date-time` and `duration` are timestamps and durations in expressions: compared by value. */

const dateTime = /^(\d{4}-\d{2}-\d{2})[Tt ](\d{2}:\d{2}:\d{2})(?:\.(\d{1,9}))?([Zz]|[+-]\d{2}:\d{2})$/;

/** Nanoseconds since the epoch. @throws CelError */
export function parseTimestamp(text: unknown): bigint {
  const match = typeof text === "string" ? dateTime.exec(text) : null;
  if (match === null) {
    const date = typeof text === "string" && /^\d{4}-\d{2}-\d{2}$/.test(text) ? Date.parse(text) : Number.NaN;
    if (Number.isNaN(date)) throw new CelError(`cannot read ${JSON.stringify(text)} as a timestamp`);
    return BigInt(date) * 1_000_000n;
  }
  const [, day, time, fraction = "", zone = "Z"] = match;
  const milliseconds = Date.parse(`${day}T${time}${zone.toUpperCase()}`);
  if (Number.isNaN(milliseconds)) throw new CelError(`cannot read ${JSON.stringify(text)} as a timestamp`);
  return BigInt(milliseconds) * 1_000_000n + BigInt(fraction.padEnd(9, "0"));
}

const units: Readonly<Record<string, number>> = { h: 3.6e12, m: 6e10, s: 1e9, ms: 1e6, us: 1e3, µs: 1e3, ns: 1 };

/** Nanoseconds of a Go duration such as `1h30m` or `-1.5s`. @throws CelError */
export function parseDuration(text: unknown): number {
  const match = typeof text === "string" ? /^([+-]?)((?:\d+(?:\.\d+)?(?:h|ms|us|µs|ns|m|s))+|0)$/.exec(text) : null;
  if (match === null) throw new CelError(`cannot read ${JSON.stringify(text)} as a duration`);
  let total = 0;
  for (const [, amount, unit = ""] of (match[2] ?? "").matchAll(/(\d+(?:\.\d+)?)(h|ms|us|µs|ns|m|s)/g)) {
    total += Number(amount) * (units[unit] ?? 0);
  }
  return match[1] === "-" ? -total : total;
}
