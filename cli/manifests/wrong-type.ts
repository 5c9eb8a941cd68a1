/** What is wrong with the type of a value, in words. */
export interface WrongType {
  readonly message: string;
  readonly advice?: string;
}

/** Kinds of values as people call them. */
export function nameOfType(value: unknown): string {
  if (value === null || value === undefined) return "nothing";
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object") return "a map";
  return typeof value === "string" ? "a text" : typeof value === "number" ? "a number" : "true or false";
}

/**
 * Why a value is no text.
 *
 * @param written how the file spells it; undefined where that cannot be told
 */
export function notText(value: unknown, written: string | undefined): WrongType {
  if (typeof value !== "number" && typeof value !== "boolean") {
    return { message: `must be a text, and is ${nameOfType(value)}` };
  }
  const read = String(value);
  const word = written ?? read;
  const found = word === read ? `is ${typeof value === "number" ? "the number " : ""}${read}` : undefined;
  const advice = `Put quotes around it: ${JSON.stringify(word)}.`;
  return { message: `must be a text, and ${found ?? `without quotes YAML reads ${word} as ${read}`}`, advice };
}
