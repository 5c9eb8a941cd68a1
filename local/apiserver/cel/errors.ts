/** The expression cannot be used: bad syntax, unknown name, wrong types, or a part of CEL that is not supported. */
export class CelCompileError extends Error {
  override readonly name = "CelCompileError";
  /** Offset into the expression. */
  readonly offset: number;

  constructor(source: string, offset: number, problem: string) {
    const before = source.slice(0, offset);
    const line = before.split("\n").length;
    const column = offset - before.lastIndexOf("\n");
    super(`${line}:${column}: ${problem}`);
    this.offset = offset;
  }
}

/** Evaluation came to no value: a missing key, an index out of bounds, a division by zero. */
export class CelError extends Error {
  override readonly name = "CelError";
}
