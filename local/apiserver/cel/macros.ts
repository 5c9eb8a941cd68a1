import type { Macro } from "./ast.ts";
import type { Code, Frame, Scope } from "./code.ts";
import { CelError } from "./errors.ts";
import { attempt } from "./operators.ts";
import { bool, type CelType, describeType, dyn, listOf } from "./types.ts";
import { rangeOf } from "./values.ts";

/** Type of the loop variable: items of a list, keys of a map. @throws CelCompileError */
export function loopType(scope: Scope, offset: number, macro: Macro, range: CelType): CelType {
  switch (range.kind) {
    case "list":
      return range.item;
    case "map":
      return range.key;
    case "dyn":
      return dyn;
    default:
      throw scope.fail(
        offset,
        `expression of type '${describeType(range)}' cannot be range of a comprehension (${macro})`,
      );
  }
}

/** The compiled parts of a macro. */
export interface Loop {
  readonly offset: number;
  readonly macro: Macro;
  readonly range: Code;
  readonly slot: number;
  readonly item: CelType;
  readonly filter: Code | undefined;
  readonly body: Code;
}

/** @throws CelCompileError when a condition is no boolean. */
export function loop(scope: Scope, { offset, macro, range, slot, item, filter, body }: Loop): Code {
  const condition = macro === "map" ? filter : body;
  if (condition !== undefined && condition.type.kind !== "bool" && condition.type.kind !== "dyn") {
    throw scope.fail(offset, `${macro}() needs a condition of type bool, found '${describeType(condition.type)}'`);
  }
  const each = (frame: Frame, visit: (item: unknown) => boolean): void => {
    for (const value of rangeOf(range.run(frame))) {
      frame[slot] = value;
      if (!visit(value)) return;
    }
  };
  const code = (type: CelType, run: (frame: Frame) => unknown): Code => ({ type, run, constant: false });
  switch (macro) {
    case "all":
    case "exists":
      return code(bool, (frame) => quantify(macro === "exists", body, frame, each));
    case "exists_one":
      return code(bool, (frame) => {
        let count = 0;
        each(frame, () => {
          if (isTrue(body, frame)) count += 1;
          return true;
        });
        return count === 1;
      });
    case "filter":
      return code(listOf(item), (frame) => {
        const kept: unknown[] = [];
        each(frame, (value) => {
          if (isTrue(body, frame)) kept.push(value);
          return true;
        });
        return kept;
      });
    case "map":
      return code(listOf(body.type), (frame) => {
        const results: unknown[] = [];
        each(frame, () => {
          if (filter === undefined || isTrue(filter, frame)) results.push(body.run(frame));
          return true;
        });
        return results;
      });
    default:
      return macro satisfies never;
  }
}

/** One item that decides wins over any number that fail, as with `&&` and `||`. */
function quantify(
  decisive: boolean,
  body: Code,
  frame: Frame,
  each: (frame: Frame, visit: (item: unknown) => boolean) => void,
): boolean {
  let failure: CelError | undefined;
  let decided = false;
  each(frame, () => {
    const result = attempt(body, frame);
    if (result instanceof CelError) failure ??= result;
    else if (result === decisive) decided = true;
    return !decided;
  });
  if (decided) return decisive;
  if (failure !== undefined) throw failure;
  return !decisive;
}

function isTrue(condition: Code, frame: Frame): boolean {
  const result = attempt(condition, frame);
  if (result instanceof CelError) throw result;
  return result;
}
