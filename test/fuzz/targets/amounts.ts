import assert from "node:assert/strict";
import fc from "fast-check";
import { formatDuration, parseDuration } from "#api/duration.ts";
import { wholeNumber } from "#api/quantity.ts";
import { parseTime, timestamp } from "#api/time.ts";
import { mutatedText } from "../mutate.ts";
import { defineTarget } from "../target.ts";

/** A fraction of whole numbers, as exact as the text. */
interface Exact {
  readonly over: bigint;
  readonly under: bigint;
}
const units: Readonly<Record<string, bigint>> = { ms: 1n, s: 1000n, m: 60_000n, h: 3_600_000n };
const suffixes: Readonly<Record<string, bigint>> = {
  ...{ "": 1n, k: 10n ** 3n, M: 10n ** 6n, G: 10n ** 9n, T: 10n ** 12n, P: 10n ** 15n },
  ...{ Ki: 2n ** 10n, Mi: 2n ** 20n, Gi: 2n ** 30n, Ti: 2n ** 40n, Pi: 2n ** 50n },
};

function decimal(whole: string, fraction: string): Exact {
  return { over: BigInt(`${whole}${fraction}` || "0"), under: 10n ** BigInt(fraction.length) };
}

/** The whole number that a quantity is, computed without rounding. */
function exactQuantity(text: string): number | undefined {
  const [, whole = "", fraction = "", exponent = "", suffix = ""] =
    /^\+?(\d*)\.?(\d*)(?:[eE]([+-]?\d{1,2}))?(m|[kMGTP]i?|Ki)?$/.exec(text) ?? [];
  if (whole === "" && fraction === "") return undefined;
  if (exponent !== "" && suffix !== "") return undefined;
  const { over, under } = decimal(whole, fraction);
  const power = 10n ** BigInt(Math.abs(Number(exponent)));
  const factor = suffix === "m" ? 1n : suffixes[suffix];
  if (factor === undefined) return undefined;
  const top = over * factor * (Number(exponent) > 0 ? power : 1n);
  const bottom = under * (Number(exponent) < 0 ? power : 1n) * (suffix === "m" ? 1000n : 1n);
  if (top % bottom !== 0n) return undefined;
  const value = Number(top / bottom);
  return Number.isSafeInteger(value) ? value : undefined;
}

const quantityExamples = [
  "2",
  "1.5k",
  "2000m",
  "1Ki",
  "3e3",
  "0.001M",
  "+7",
  ".5k",
  "1.001k",
  "4.35M",
  "9007199254740991",
];
const durationExamples = ["90s", "1h30m", "1.5s", "250ms", "0.1h0.7m", "8760h", "1m1m"];
const timeExamples = [
  "2026-01-01T00:00:00.000001Z",
  "2026-02-28t23:59:59.999999+14:00",
  "1969-12-31T23:59:59.5-00:30",
  "0001-01-01T00:00:00Z",
  "9999-12-31T23:59:59.9999999Z",
];
const digits = [..."0123456789.+-eEmkKiMhsZT:", "ms", "Gi"];

/** Longer ones are refused, or are more than the judge can count. */
const short = (examples: readonly string[]) => mutatedText(examples, digits).map((text) => text.slice(0, 64));

export interface Amounts {
  readonly wholeNumber: (text: string) => number | undefined;
  readonly parseDuration: (text: string) => number | undefined;
  readonly parseTime: (text: string) => number | undefined;
}

export const amounts = (read: Amounts = { wholeNumber, parseDuration, parseTime }) =>
  defineTarget({
    name: "amounts",
    holds: "quantities, durations and times are read as the numbers that they are, and printed ones are read back",
    outcomes: ["a quantity", "a duration", "a time", "none"],
    inputs: fc.oneof(
      fc.record({
        kind: fc.constant("a quantity"),
        text: short(quantityExamples),
      }),
      fc.record({ kind: fc.constant("a duration"), text: short(durationExamples) }),
      fc.record({ kind: fc.constant("a time"), text: short(timeExamples) }),
    ),
    check({ kind, text }) {
      if (kind === "a quantity") {
        const value = read.wholeNumber(text);
        assert.equal(value, exactQuantity(text));
        return value === undefined ? "none" : kind;
      }
      if (kind === "a duration") {
        const ms = read.parseDuration(text);
        if (ms === undefined) return "none";
        const parts = [...text.matchAll(/(\d+)(?:\.(\d+))?(ms|s|m|h)/g)];
        assert.equal(parts.map(([part]) => part).join(""), text);
        const sum = parts.reduce((so, [, whole = "", fraction = "", unit = ""]) => {
          const { over, under } = decimal(whole, fraction);
          return so + Number(over * (units[unit] ?? 0n)) / Number(under);
        }, 0);
        assert(Math.abs(ms - sum) <= 1e-9 * Math.max(1, sum), `${ms} and not ${sum}`);
        if (ms < 1e15) assert.equal(read.parseDuration(formatDuration(Math.round(ms))), Math.round(ms));
        return kind;
      }
      const ms = read.parseTime(text);
      if (ms === undefined) return "none";
      // Only times of this century are held to the microsecond.
      if (ms > 4e12) return kind;
      const printed = timestamp(ms);
      assert.equal(timestamp(read.parseTime(printed) ?? Number.NaN), printed);
      assert(Math.abs((read.parseTime(printed) ?? Number.NaN) - ms) < 0.01, printed);
      return kind;
    },
  });
