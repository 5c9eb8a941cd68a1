import { compileRegex } from "../cel/regex.ts";
import { type FieldError, invalid, noField, notSupported, tooLong, tooMany, typeInvalid } from "../field-errors.ts";
import { equalJson, isObject } from "../json.ts";
import { formats, integerFormats } from "./formats.ts";
import type { SchemaNode } from "./schema.ts";
import type { SchemaSource } from "./types.ts";
import { validateNode } from "./validate.ts";

/** One constraint of a node on a value whose type is right already. */
export type Check = (value: unknown, path: string, errors: FieldError[]) => void;

/** Schemas that a value is compared with as a whole. */
export interface Junctors {
  readonly allOf: readonly SchemaNode[];
  readonly anyOf: readonly SchemaNode[];
  readonly oneOf: readonly SchemaNode[];
  readonly not: SchemaNode | undefined;
}

/** @throws Error when a pattern cannot be compiled. */
export function compileChecks(source: SchemaSource, path: string, junctors: Junctors): Check[] {
  return [
    ...junctorChecks(junctors),
    ...stringChecks(source, path),
    ...numberChecks(source),
    ...sizeChecks(source),
    ...enumChecks(source),
  ];
}

/** `spec.x in body should ...`: how the validator of the API server begins its sentences. */
const say = (path: string, what: string): string => `${path} in body ${what}`;

function stringChecks(source: SchemaSource, path: string): Check[] {
  const checks: Check[] = [];
  const { minLength, maxLength, pattern, format } = source;
  const onText = (check: (text: string, at: string, errors: FieldError[]) => void): void => {
    checks.push((value, at, errors) => {
      if (typeof value === "string") check(value, at, errors);
    });
  };
  if (maxLength !== undefined) {
    onText((text, at, errors) => {
      if (text.length > maxLength && length(text) > maxLength) errors.push(tooLong(at, maxLength));
    });
  }
  if (minLength !== undefined) {
    onText((text, at, errors) => {
      if (length(text) < minLength)
        errors.push(invalid(at, text, say(at, `should be at least ${minLength} chars long`)));
    });
  }
  if (pattern !== undefined) {
    const regex = compilePattern(pattern, path);
    onText((text, at, errors) => {
      if (!regex.test(text)) errors.push(invalid(at, text, say(at, `should match '${pattern}'`)));
    });
  }
  const matches = format === undefined || !Object.hasOwn(formats, format) ? undefined : formats[format];
  if (matches !== undefined) {
    onText((text, at, errors) => {
      if (!matches(text))
        errors.push(typeInvalid(at, text, say(at, `must be of type ${format}: ${JSON.stringify(text)}`)));
    });
  }
  return checks;
}

function compilePattern(pattern: string, path: string): RegExp {
  try {
    return compileRegex(pattern);
  } catch (error) {
    throw new Error(
      `${path}.pattern: Invalid value: ${JSON.stringify(pattern)}: must be a valid regular expression: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
}

function length(text: string): number {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}

function numberChecks(source: SchemaSource): Check[] {
  const checks: Check[] = [];
  const { minimum, maximum, multipleOf, format } = source;
  const onNumber = (holds: (value: number) => boolean, what: string): void => {
    checks.push((value, at, errors) => {
      if (typeof value === "number" && !holds(value)) errors.push(invalid(at, value, say(at, what)));
    });
  };
  if (maximum !== undefined) {
    if (source.exclusiveMaximum) onNumber((value) => value < maximum, `should be less than ${maximum}`);
    else onNumber((value) => value <= maximum, `should be less than or equal to ${maximum}`);
  }
  if (minimum !== undefined) {
    if (source.exclusiveMinimum) onNumber((value) => value > minimum, `should be greater than ${minimum}`);
    else onNumber((value) => value >= minimum, `should be greater than or equal to ${minimum}`);
  }
  if (multipleOf !== undefined) {
    onNumber((value) => Number.isInteger(value / multipleOf), `should be a multiple of ${multipleOf}`);
  }
  const bounds = format === undefined || !Object.hasOwn(integerFormats, format) ? undefined : integerFormats[format];
  if (bounds !== undefined && source.type === "integer") {
    checks.push((value, at, errors) => {
      if (typeof value === "number" && (value < bounds[0] || value > bounds[1])) {
        errors.push(typeInvalid(at, value, say(at, `must be of type ${format}: "${value}"`)));
      }
    });
  }
  return checks;
}

function sizeChecks(source: SchemaSource): Check[] {
  const checks: Check[] = [];
  const { minItems, maxItems, minProperties, maxProperties } = source;
  const onSize = (
    sizeOf: (value: unknown) => number | undefined,
    min: number | undefined,
    max: number | undefined,
    unit: string,
  ): void => {
    if (min === undefined && max === undefined) return;
    checks.push((value, at, errors) => {
      const size = sizeOf(value);
      if (size === undefined) return;
      if (max !== undefined && size > max) errors.push(tooMany(at, size, max));
      if (min !== undefined && size < min)
        errors.push(invalid(at, size, say(at, `should have at least ${min} ${unit}`)));
    });
  };
  onSize((value) => (Array.isArray(value) ? value.length : undefined), minItems, maxItems, "items");
  onSize(
    (value) => (isObject(value) ? Object.keys(value).length : undefined),
    minProperties,
    maxProperties,
    "properties",
  );
  return checks;
}

function enumChecks(source: SchemaSource): Check[] {
  const allowed = source.enum;
  if (allowed === undefined) return [];
  return [
    (value, at, errors) => {
      if (!allowed.some((item) => equalJson(item, value))) errors.push(notSupported(at, value, allowed));
    },
  ];
}

/** These blame no field (`<nil>`): so does the real validator, which only tells the path in the text. */
function junctorChecks({ allOf, anyOf, oneOf, not }: Junctors): Check[] {
  const checks: Check[] = [];
  const errorsOf = (node: SchemaNode, value: unknown, at: string): FieldError[] => {
    const found: FieldError[] = [];
    validateNode(node, value, undefined, at, found);
    return found;
  };
  const blame = (at: string, what: string): FieldError => invalid(noField, "", `${JSON.stringify(at)} must ${what}`);

  if (anyOf.length > 0) {
    checks.push((value, at, errors) => {
      const results = anyOf.map((node) => errorsOf(node, value, at));
      if (results.some((found) => found.length === 0)) return;
      errors.push(blame(at, "validate at least one schema (anyOf)"), ...closest(results));
    });
  }
  if (oneOf.length > 0) {
    checks.push((value, at, errors) => {
      const results = oneOf.map((node) => errorsOf(node, value, at));
      const valid = results.filter((found) => found.length === 0).length;
      if (valid === 1) return;
      const found = valid === 0 ? "Found none valid" : `Found ${valid} valid alternatives`;
      errors.push(
        blame(at, `validate one and only one schema (oneOf). ${found}`),
        ...(valid === 0 ? closest(results) : []),
      );
    });
  }
  if (allOf.length > 0) {
    checks.push((value, at, errors) => {
      const found = allOf.flatMap((node) => errorsOf(node, value, at));
      if (found.length === 0) return;
      const all = allOf.every((node) => errorsOf(node, value, at).length > 0);
      errors.push(...found, blame(at, `validate all the schemas (allOf)${all ? ". None validated" : ""}`));
    });
  }
  if (not !== undefined) {
    checks.push((value, at, errors) => {
      if (errorsOf(not, value, at).length === 0) errors.push(blame(at, "not validate the schema (not)"));
    });
  }
  return checks;
}

/** The alternative that needs the fewest corrections is the one that was probably meant. */
function closest(results: readonly FieldError[][]): readonly FieldError[] {
  return results.reduce((best, found) => (found.length < best.length ? found : best));
}
