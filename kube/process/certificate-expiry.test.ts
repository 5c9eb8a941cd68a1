import { expect, test } from "vitest";
import { VirtualClock } from "#kube/virtual-clock.ts";
import { expiryWarning, warnBeforeMs, warnOfExpiry } from "./certificate-expiry.ts";

const use = { of: "the webhook", without: "nothing can be created" };
const day = 24 * 3_600_000;
const expiry = Date.parse("2027-01-01T00:00:00Z");

test("a certificate that is good for long enough is no news", () => {
  expect(expiryWarning(use, expiry, expiry - warnBeforeMs)).toBeUndefined();
});

test.each([
  ["its last weeks", expiry - 29 * day, "expires at 2027-01-01T00:00:00.000000Z"],
  ["its end", expiry, "expired at 2027-01-01T00:00:00.000000Z"],
])("people are warned in %s", (_, now, text) => {
  expect(expiryWarning(use, expiry, now)).toContain(text);
});

test("the warning is repeated, because Events are forgotten", async () => {
  const clock = new VirtualClock();
  const stop = new AbortController();
  const told: string[] = [];
  const recorder = { event: (_about: unknown, type: string, reason: string) => void told.push(`${type} ${reason}`) };
  const about = { apiVersion: "v1", kind: "Pod", name: "p" };
  const end = clock.now() + warnBeforeMs + 90 * 60_000;
  void warnOfExpiry(use, () => end, about, { recorder, clock, signal: stop.signal });
  await clock.elapse(60 * 60_000);
  expect(told).toEqual([]);
  await clock.elapse(120 * 60_000);
  expect(told).toEqual(["Warning CertificateExpiring", "Warning CertificateExpiring"]);
  stop.abort();
  await clock.elapse(600 * 60_000);
  expect(told).toHaveLength(2);
});
