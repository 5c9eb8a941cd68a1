import type { Amounts } from "#api/quantity.ts";

/** What of the capacity is lacking for one more request beside those in use; undefined when it fits. */
export function fits(capacity: Amounts, used: readonly Amounts[], request: Amounts): string | undefined {
  for (const [name, amount] of Object.entries(request)) {
    const inUse = used.reduce((sum, one) => sum + (one[name] ?? 0), 0);
    const total = capacity[name] ?? 0;
    if (inUse + amount > total) return `${name}: ${amount} requested, ${inUse} of ${total} in use`;
  }
  return undefined;
}
