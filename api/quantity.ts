/** Multipliers of Kubernetes quantities that can give whole numbers. */
const suffixes: Readonly<Record<string, number>> = {
  "": 1,
  m: 1e-3,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  Ki: 1024,
  Mi: 1024 ** 2,
  Gi: 1024 ** 3,
  Ti: 1024 ** 4,
  Pi: 1024 ** 5,
};

const form = /^\+?(\d+(?:\.\d*)?|\.\d+)([eE][+-]?\d{1,2})?(m|k|M|G|T|P|Ki|Mi|Gi|Ti|Pi)?$/;

/** The named amounts of a Pod's logical capacity, or of a Run's requests. */
export type Amounts = Readonly<Record<string, number>>;

/**
 * The value of a quantity that is a whole number of 0 or more: `2`, `"2"`, `"2k"`, `"1Ki"`, `"2000m"`. Anything else
 * (`"500m"`, `-1`, `"two"`, beyond 2^53) is `undefined`: logical capacity is counted, not measured.
 */
export function wholeNumber(quantity: number | string): number | undefined {
  const match = form.exec(String(quantity));
  if (match === null) return undefined;
  const [, digits = "", exponent = "", suffix = ""] = match;
  if (exponent !== "" && suffix !== "") return undefined; // Kubernetes reads one or the other
  const number = Number(digits + exponent);
  // Dividing is exact where multiplying by 0.001 is not.
  const value = suffix === "m" ? number / 1000 : number * (suffixes[suffix] ?? Number.NaN);
  return Number.isSafeInteger(value) ? value : undefined;
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
