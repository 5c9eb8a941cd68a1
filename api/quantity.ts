/** Multipliers of Kubernetes quantities that can give whole numbers. */
const suffixes: Readonly<Record<string, bigint>> = {
  "": 1n,
  m: 1n,
  k: 10n ** 3n,
  M: 10n ** 6n,
  G: 10n ** 9n,
  T: 10n ** 12n,
  P: 10n ** 15n,
  Ki: 1024n,
  Mi: 1024n ** 2n,
  Gi: 1024n ** 3n,
  Ti: 1024n ** 4n,
  Pi: 1024n ** 5n,
};

/** Digits beyond which nobody counts. */
const maxLength = 64;

const form = /^\+?(\d+(?:\.\d*)?|\.\d+)([eE][+-]?\d{1,2})?(m|k|M|G|T|P|Ki|Mi|Gi|Ti|Pi)?$/;

/** The named amounts of a Pod's logical capacity, or of a Run's requests. */
export type Amounts = Readonly<Record<string, number>>;

/**
 * The value of a quantity that is a whole number of 0 or more: `2`, `"2"`, `"2k"`, `"1Ki"`, `"2000m"`. Anything else
 * (`"500m"`, `-1`, `"two"`, beyond 2^53) is `undefined`: logical capacity is counted, not measured.
 */
export function wholeNumber(quantity: number | string): number | undefined {
  const text = String(quantity);
  const match = text.length > maxLength ? null : form.exec(text);
  if (match === null) return undefined;
  const [, digits = "", exponent = "", suffix = ""] = match;
  if (exponent !== "" && suffix !== "") return undefined; // Kubernetes reads one or the other
  const [whole = "", fraction = ""] = digits.split(".");
  const power = Number(exponent.slice(1)) - fraction.length - (suffix === "m" ? 3 : 0);
  // Whole numbers throughout: in floating point 1.001k would be a little less than 1001.
  const over = BigInt(whole + fraction) * (suffixes[suffix] ?? 1n) * 10n ** BigInt(Math.max(0, power));
  const under = 10n ** BigInt(Math.max(0, -power));
  const value = Number(over / under);
  return over % under === 0n && Number.isSafeInteger(value) ? value : undefined;
}

/** All values of a map of quantities, or `undefined` when one of them is no whole number. */
export function wholeNumbers(quantities: Readonly<Record<string, number | string>>): Amounts | undefined {
  const amounts: Record<string, number> = {};
  for (const [name, quantity] of Object.entries(quantities)) {
    const value = wholeNumber(quantity);
    if (value === undefined) return undefined;
    amounts[name] = value;
  }
  return amounts;
}
