import { type CelCompileError, CelError } from "./errors.ts";
import type { CelType } from "./types.ts";

/** Values of variables by slot; macros write theirs before they run their body. */
export type Frame = unknown[];

/** A part of an expression, ready to run. */
export interface Code {
  readonly type: CelType;
  /** @throws CelError */
  readonly run: (frame: Frame) => unknown;
  /** The same in every frame. */
  readonly constant: boolean;
}

/** What is known of a name while compiling. */
export interface Variable {
  readonly slot: number;
  readonly type: CelType;
}

/** The place where parts of one expression are compiled. */
export interface Scope {
  readonly variables: ReadonlyMap<string, Variable>;
  /** Makes an error at an offset of the expression. */
  fail(offset: number, problem: string): CelCompileError;
  /** Notes that a variable was read. */
  use(name: string): void;
  /** A slot that no other variable of the expression has. */
  newSlot(): number;
}

/** A part made of other parts: folded to its value when those never change (a literal table is built once). */
export function codeOf(type: CelType, parts: readonly Code[], run: (frame: Frame) => unknown): Code {
  if (!parts.every((part) => part.constant)) return { type, run, constant: false };
  try {
    const value = run([]);
    return { type, run: () => value, constant: true };
  } catch (error) {
    if (error instanceof CelError) return { type, run, constant: false }; // fails when it runs, not when it loads
    throw error;
  }
}
