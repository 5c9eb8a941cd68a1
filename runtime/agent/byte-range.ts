/** A part of a file: from `start` up to but without `end`. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/**
 * The part that a Range header asks for (RFC 9110, 14.2).
 * @returns undefined when the whole is to be sent: no header, another unit, several ranges, or nonsense
 */
export function parseRange(header: string | undefined, size: number): ByteRange | "unsatisfiable" | undefined {
  const [, first, last] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header?.trim() ?? "") ?? [];
  if (first === undefined || last === undefined || (first === "" && last === "")) return undefined;
  if (first === "") {
    const length = Math.min(size, Number(last));
    return length === 0 ? "unsatisfiable" : { start: size - length, end: size };
  }
  const start = Number(first);
  const end = last === "" ? size : Math.min(size, Number(last) + 1);
  if (last !== "" && Number(last) < start) return undefined;
  return start >= size ? "unsatisfiable" : { start, end };
}
