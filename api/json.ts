/** Plain functions over JSON values. A member that is `undefined` counts as absent, as on the wire. */

/** The JSON text of a value with the members of every object in order of their names: equal values give equal texts. */
export function stableJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map((item) => stableJson(item ?? null)).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
    .map(([name, member]) => `${JSON.stringify(name)}:${stableJson(member)}`);
  return `{${members.join(",")}}`;
}

/** Whether two JSON values are the same, whatever the order of their members. */
export function jsonEqual(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (Array.isArray(a) || Array.isArray(b)) {
    if (!Array.isArray(a) || !Array.isArray(b) || a.length !== b.length) return false;
    return a.every((item, index) => jsonEqual(item, b[index]));
  }
  const left = Object.entries(a).filter(([, member]) => member !== undefined);
  const right = new Map(Object.entries(b).filter(([, member]) => member !== undefined));
  return (
    left.length === right.size && left.every(([name, member]) => right.has(name) && jsonEqual(member, right.get(name)))
  );
}

/** Whether more than `levels` lists and objects stand in each other. Not a recursion, which could end the stack. */
export function isDeeper(value: unknown, levels: number): boolean {
  let level = [value].filter(isContainer);
  for (let depth = 0; level.length > 0; depth++) {
    if (depth === levels) return true;
    level = level.flatMap((one) => Object.values(one).filter(isContainer));
  }
  return false;
}

const isContainer = (value: unknown): value is object => typeof value === "object" && value !== null;

/** Size of a value as JSON text in UTF-8, in bytes. */
export function jsonBytes(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value) ?? "");
}
