import { compileCel, type Program } from "../cel/compile.ts";
import { CelCompileError, CelError } from "../cel/errors.ts";
import { type CelType, optionalOf } from "../cel/types.ts";
import { Optional } from "../cel/values.ts";
import { duplicate, type FieldError, forbidden, invalid, noField, required } from "../field-errors.ts";
import type { ValidationRule } from "./types.ts";

/** One entry of `x-kubernetes-validations`, compiled. */
export interface Rule {
  readonly usesOldSelf: boolean;
  /** What the rule finds wrong; `oldSelf` is undefined where nothing was there before. */
  check(self: unknown, oldSelf: unknown, path: string): FieldError | undefined;
}

interface Place {
  readonly path: string;
  readonly type: CelType;
  /** For messages: `object`, `string`, ... */
  readonly typeName: string;
  readonly correlatable: boolean;
  /** Whether a path of member names leads to a field below the node. */
  hasField(path: readonly string[]): boolean;
}

/** @throws Error that names the path of a rule that cannot be used. */
export function compileRules(rules: readonly ValidationRule[], place: Place): Rule[] {
  return rules.map((rule, index) =>
    compileRule(rule, { ...place, path: `${place.path}.x-kubernetes-validations[${index}]` }),
  );
}

const reasons = new Set(["FieldValueInvalid", "FieldValueForbidden", "FieldValueRequired", "FieldValueDuplicate"]);

function compileRule(rule: ValidationRule, place: Place): Rule {
  const { path } = place;
  if (typeof rule.rule !== "string" || rule.rule.trim() === "")
    throw new Error(`${path}.rule: Required value: rule is required`);
  if (rule.reason !== undefined && !reasons.has(rule.reason)) {
    throw new Error(
      `${path}.reason: Unsupported value: ${JSON.stringify(rule.reason)}: supported values: ${[...reasons].join(", ")}`,
    );
  }
  if (rule.message?.includes("\n")) throw new Error(`${path}.message: Invalid value: must not contain line breaks`);
  const variables = {
    self: place.type,
    oldSelf: rule.optionalOldSelf === true ? optionalOf(place.type) : place.type,
  };
  const program = compileAs(rule.rule, variables, "bool", `${path}.rule`);
  const usesOldSelf = program.uses.has("oldSelf");
  if (usesOldSelf && !place.correlatable) {
    throw new Error(
      `${path}.rule: Invalid value: oldSelf cannot be used on the uncorrelatable portion of the schema (inside a list that is not x-kubernetes-list-type: map)`,
    );
  }
  if (rule.optionalOldSelf === true && !usesOldSelf) {
    throw new Error(
      `${path}.optionalOldSelf: Invalid value: true: may not be set to true when oldSelf is not used in rule`,
    );
  }
  const message =
    rule.messageExpression === undefined
      ? undefined
      : compileAs(rule.messageExpression, variables, "string", `${path}.messageExpression`);
  const suffix = rule.fieldPath === undefined ? "" : checkFieldPath(rule.fieldPath, `${path}.fieldPath`, place);
  return {
    usesOldSelf,
    check(self, oldSelf, at) {
      if (usesOldSelf && oldSelf === undefined && rule.optionalOldSelf !== true) return undefined;
      const values = [self, rule.optionalOldSelf === true ? new Optional(oldSelf) : oldSelf];
      const node = at === "" ? noField : at;
      try {
        if (program.run(values) === true) return undefined;
      } catch (error) {
        if (!(error instanceof CelError)) throw error;
        return invalid(node, place.typeName, `${error.message} evaluating rule: ${ruleText(rule)}`);
      }
      const field = suffix === "" ? node : `${at}${suffix}`.replace(/^\./, "");
      // The real server gives messages the bare old value, so an optional one cannot be used in them.
      return failureOf(rule, field, place.typeName, messageOf(rule, message, [self, oldSelf]));
    },
  };
}

function compileAs(
  source: string,
  variables: Readonly<Record<string, CelType>>,
  kind: "bool" | "string",
  path: string,
): Program {
  let program: Program;
  try {
    program = compileCel(source, variables);
  } catch (error) {
    if (error instanceof CelCompileError)
      throw new Error(`${path}: compilation failed: ${error.message}`, { cause: error });
    throw error;
  }
  if (program.type.kind !== kind && program.type.kind !== "dyn") {
    throw new Error(`${path}: Invalid value: must evaluate to a ${kind}`);
  }
  return program;
}

function checkFieldPath(text: string, path: string, place: Place): string {
  if (!/^(?:\.[A-Za-z_][A-Za-z0-9_-]*|\['[^']+'\])+$/.test(text)) {
    throw new Error(`${path}: Invalid value: ${JSON.stringify(text)}: must be a JSON path like .spec.name or ['a-b']`);
  }
  const names = [...text.matchAll(/\.([A-Za-z_][A-Za-z0-9_-]*)|\['([^']+)'\]/g)].map(
    ([, plain, quoted]) => plain ?? quoted ?? "",
  );
  if (!place.hasField(names)) {
    throw new Error(
      `${path}: Invalid value: ${JSON.stringify(text)}: fieldPath ${text} does not refer to a valid field`,
    );
  }
  return text.replaceAll(/\['([^']+)'\]/g, "[$1]");
}

const ruleText = (rule: ValidationRule): string => (rule.message ?? rule.rule).trim();

/** The message expression where it gives a usable text, then the message, then the rule itself. */
function messageOf(rule: ValidationRule, expression: Program | undefined, values: readonly unknown[]): string {
  try {
    const text = expression?.run(values);
    if (typeof text === "string" && text.trim() !== "" && !text.includes("\n")) return text;
  } catch (error) {
    if (!(error instanceof CelError)) throw error;
  }
  return rule.message === undefined ? `failed rule: ${rule.rule.trim()}` : rule.message.trim();
}

function failureOf(rule: ValidationRule, path: string, typeName: string, message: string): FieldError {
  switch (rule.reason) {
    case "FieldValueForbidden":
      return forbidden(path, message);
    case "FieldValueRequired":
      return required(path, message);
    case "FieldValueDuplicate":
      return duplicate(path, typeName);
    default:
      return invalid(path, typeName, message);
  }
}
