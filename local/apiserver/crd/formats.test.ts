import { expect, test } from "vitest";
import { formats } from "./formats.ts";

const cases: [format: string, valid: string[], invalid: string[]][] = [
  ["date", ["2026-01-31"], ["2026-01-32", "2026-1-1", "x"]],
  [
    "date-time",
    ["2026-01-01T00:00:00Z", "2026-01-01T00:00:00.123456Z", "2026-01-01t00:00:00+02:00"],
    ["2026-01-01", "2026-01-01T24:00:00Z", "2026-13-01T00:00:00Z", "2026-01-01T00:00:00"],
  ],
  ["duration", ["1s", "1h30m", "1.5h", "-5ms", "3 days"], ["", "1", "1x", "h"]],
  ["byte", ["", "YWJj", "YQ=="], ["YQ", "Y$=="]],
  ["uuid", ["123e4567-e89b-42d3-a456-426614174000"], ["123e4567", "123e4567-e89b-42d3-a456-42661417400g"]],
  ["ipv4", ["10.0.0.1"], ["10.0.0", "10.0.0.256", "10.0.0.1."]],
  ["ipv6", ["::1", "2001:db8::2"], ["10.0.0.1", "2001:db8:::2", "x::1"]],
  ["cidr", ["10.0.0.0/8", "2001:db8::/32"], ["10.0.0.0", "10.0.0.0/33", "10.0.0.0/8/8"]],
  ["hostname", ["a.example.com", "a"], ["-a", "a..b", "a_b"]],
  ["email", ["a@example.com"], ["a", "@b", "a b@c"]],
  ["uri", ["https://example.com/a", "/path"], ["a b", "/a b"]],
];

test.each(cases)("%s", (format, valid, invalid) => {
  const matches = formats[format];
  expect(valid.filter((text) => !matches?.(text))).toEqual([]);
  expect(invalid.filter((text) => matches?.(text))).toEqual([]);
});
