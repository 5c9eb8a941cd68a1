import { type FieldError, invalid, required } from "../field-errors.ts";
import { equalJson, getPath, isObject, isStringMap } from "../json.ts";
import type { Draft, StoredObject } from "../types.ts";
import { defineKind } from "./define.ts";
import { podDefaults } from "./pod.ts";

export const replicaSet = defineKind({
  group: "apps",
  version: "v1",
  kind: "ReplicaSet",
  plural: "replicasets",
  shortNames: ["rs"],
  categories: ["all"],
  subresources: ["status", "scale"],
  scale: {
    specReplicas: ["spec", "replicas"],
    statusReplicas: ["status", "replicas"],
    labelSelector: ["spec", "selector"],
  },
  generation: true,
  selectable: ["status.replicas"],
  admit: (draft) => ({ ...draft, spec: withDefaults(draft.spec) }),
  prepareCreate(draft) {
    draft.status = { replicas: 0 };
  },
  validate: (draft, old, subresource) => (subresource === undefined ? validate(draft, old) : []),
});

function withDefaults(spec: unknown): unknown {
  const given = isObject(spec) ? spec : {};
  const template = isObject(given.template) ? given.template : undefined;
  if (template === undefined) return { replicas: 1, ...given };
  const podSpec = { ...podDefaults, ...(isObject(template.spec) ? template.spec : {}) };
  return { replicas: 1, ...given, template: { ...template, spec: podSpec } };
}

function validate(draft: Draft, old: StoredObject | undefined): FieldError[] {
  const errors: FieldError[] = [];
  const replicas = getPath(draft, ["spec", "replicas"]);
  if (typeof replicas !== "number" || !Number.isSafeInteger(replicas) || replicas < 0) {
    errors.push(invalid("spec.replicas", replicas, "must be greater than or equal to 0"));
  }
  const selector = getPath(draft, ["spec", "selector"]);
  const labels = getPath(draft, ["spec", "template", "metadata", "labels"]);
  if (!isObject(selector)) {
    errors.push(required("spec.selector"));
  } else if (!selects(selector, labels)) {
    errors.push(invalid("spec.template.metadata.labels", labels ?? {}, "`selector` does not match template `labels`"));
  }
  if (old !== undefined && !equalJson(selector, getPath(old, ["spec", "selector"]))) {
    errors.push(invalid("spec.selector", selector, "field is immutable"));
  }
  const containers = getPath(draft, ["spec", "template", "spec", "containers"]);
  if (!Array.isArray(containers) || containers.length === 0) errors.push(required("spec.template.spec.containers"));
  return errors;
}

/** Whether a metav1.LabelSelector selects these labels; an empty one is refused because it would select everything. */
function selects(selector: Readonly<Record<string, unknown>>, labels: unknown): boolean {
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
