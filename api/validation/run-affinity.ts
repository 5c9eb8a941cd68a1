import type { FieldError } from "../field-error.ts";
import type { LabelSelector, Run, RunAffinityTerm } from "../kinds/run.ts";
import { labelForm, qualifiedName } from "../names.ts";
import { invalid, type Rule, required } from "./rule.ts";

/** A selector that says nothing would match every Run, one that labels cannot satisfy would match none. */
export const runAffinity: Rule<Run> = ({ spec }) =>
  (["runAffinity", "runAntiAffinity"] as const).flatMap((side) => {
    const rules = spec.affinity?.[side];
    const path = `spec.affinity.${side}`;
    const hard = "requiredDuringSchedulingIgnoredDuringExecution";
    const soft = "preferredDuringSchedulingIgnoredDuringExecution";
    return [
      ...(rules?.[hard] ?? []).flatMap((term, index) => checkTerm(`${path}.${hard}[${index}]`, term)),
      ...(rules?.[soft] ?? []).flatMap(({ runAffinityTerm }, index) =>
        checkTerm(`${path}.${soft}[${index}].runAffinityTerm`, runAffinityTerm),
      ),
    ];
  });

function checkTerm(path: string, { labelSelector }: RunAffinityTerm): FieldError[] {
  const at = `${path}.labelSelector`;
  const { matchLabels = {}, matchExpressions = [] } = labelSelector;
  if (Object.keys(matchLabels).length === 0 && matchExpressions.length === 0) {
    return [required(at, "the selector is empty", "Name at least one label in matchLabels or matchExpressions.")];
  }
  return [
    ...Object.entries(matchLabels).flatMap(([key, value]) => [
      ...checkKey(`${at}.matchLabels`, key),
      ...checkValue(`${at}.matchLabels[${key}]`, value),
    ]),
    ...matchExpressions.flatMap((expression, index) => checkExpression(`${at}.matchExpressions[${index}]`, expression)),
  ];
}

type Expression = NonNullable<LabelSelector["matchExpressions"]>[number];

function checkExpression(path: string, { key, operator, values = [] }: Expression): FieldError[] {
  const errors = checkKey(`${path}.key`, key);
  const takesValues = operator === "In" || operator === "NotIn";
  if (takesValues && values.length === 0) {
    errors.push(required(`${path}.values`, `${operator} needs values`, "List at least one value, or use Exists."));
  }
  if (!takesValues && values.length > 0) {
    errors.push(invalid(`${path}.values`, `${operator} takes no values`, "Leave values out, or use In."));
  }
  return [...errors, ...values.flatMap((value, index) => checkValue(`${path}.values[${index}]`, value))];
}

function checkKey(path: string, key: string): FieldError[] {
  if (qualifiedName.test(key)) return [];
  return [
    invalid(
      path,
      `"${key}" cannot be the key of a label`,
      "Use a name of at most 63 characters, as in app or example.com/app.",
    ),
  ];
}

function checkValue(path: string, value: string): FieldError[] {
  if (labelForm.test(value)) return [];
  return [invalid(path, `"${value}" cannot be the value of a label`, "Use at most 63 letters, digits, -, _ and .")];
}
