import { type FieldError, invalid, required } from "../field-errors.ts";
import { equalJson, getPath, isObject } from "../json.ts";
import { selects } from "../selectors/label-selector.ts";
import type { Draft, StoredObject } from "../types.ts";
import { defineKind } from "./define.ts";
import { podDefaults } from "./pod.ts";

/** ReplicaSets; what acts on them is a controller of its own. */
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
