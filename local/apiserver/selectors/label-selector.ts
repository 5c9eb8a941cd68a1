import { isObject, isStringMap } from "../json.ts";

/**
 * Whether a metav1.LabelSelector selects these labels. An empty selector selects nothing here: where a workload has
 * one, the API server refuses it, because it would select everything.
 */
export function selects(selector: unknown, labels: unknown): boolean {
  if (!isObject(selector)) return false;
  const { matchLabels = {}, matchExpressions = [] } = selector;
  if (!isStringMap(matchLabels) || !Array.isArray(matchExpressions)) return false;
  const wanted = Object.entries(matchLabels);
  if (wanted.length === 0 && matchExpressions.length === 0) return false;
  const own = isStringMap(labels) ? labels : {};
  if (!wanted.every(([key, value]) => Object.hasOwn(own, key) && own[key] === value)) return false;
  return matchExpressions.every((expression: unknown) => isObject(expression) && selectsExpression(expression, own));
}

function selectsExpression(
  expression: Readonly<Record<string, unknown>>,
  labels: Readonly<Record<string, string>>,
): boolean {
  const { key, operator, values } = expression;
  if (typeof key !== "string") return false;
  const value = Object.hasOwn(labels, key) ? labels[key] : undefined;
  const listed = Array.isArray(values) && value !== undefined && values.includes(value);
  switch (operator) {
    case "Exists":
      return value !== undefined;
    case "DoesNotExist":
      return value === undefined;
    case "In":
      return listed;
    case "NotIn":
      return !listed;
    default:
      return false;
  }
}
