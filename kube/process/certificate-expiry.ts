import { timestamp } from "#api/time.ts";
import { type Clock, type Recorder, sleep } from "#kube/ports.ts";

/** From so long before the end of a certificate on people are warned: time for a change that has to be planned. */
export const warnBeforeMs = 30 * 24 * 3_600_000;

/** How often people are warned, in milliseconds: Events are kept for an hour. */
const warnEveryMs = 3_600_000;

/** Whose certificate it is, and what does not work without it. */
export interface CertificateUse {
  readonly of: string;
  readonly without: string;
}

/** What to say about a certificate at that time; undefined while it is good for long enough. */
export function expiryWarning({ of, without }: CertificateUse, expiry: number, now: number): string | undefined {
  if (expiry - now >= warnBeforeMs) return undefined;
  const state = expiry <= now ? "expired" : "expires";
  return (
    `the certificate of ${of} ${state} at ${timestamp(expiry)}; without a valid one ${without}. ` +
    "Replace the Secret: with a chart-managed one delete it and run `helm upgrade`."
  );
}

/** Tells as long as there is something to tell, until the signal is aborted. */
export async function warnOfExpiry(
  use: CertificateUse,
  expiry: () => number,
  about: Parameters<Recorder["event"]>[0],
  { recorder, clock, signal }: { recorder: Recorder; clock: Clock; signal: AbortSignal },
): Promise<void> {
  while (!signal.aborted) {
    const warning = expiryWarning(use, expiry(), clock.now());
    if (warning !== undefined) recorder.event(about, "Warning", "CertificateExpiring", warning);
    await sleep(clock, warnEveryMs, signal);
  }
}
