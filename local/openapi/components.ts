import type { SchemaSource } from "#local/apiserver/crd/types.ts";
import type { Kind } from "#local/apiserver/index.ts";
import { type MergeNode, mergeNodeOf } from "#local/apiserver/patch/merge-keys.ts";
import { type Field, type FieldType, type Models, modelOf } from "./models.ts";

/** A schema of OpenAPI 3.0 with the extensions of Kubernetes. */
export type Schema = Record<string, unknown>;

/** Schemas that a document refers to, by name. */
export type Components = Map<string, Schema>;

/** Name of a model among the components, e.g. `io.k8s.api.v1.PodSpec`. */
export function componentName(model: string): string {
  const [, group = "", version = "", name = model] = /^([A-Z][a-z]+)?(V\d\w*?)([A-Z]\w*)$/.exec(model) ?? [];
  return `io.k8s.${group === "" ? "api" : group.toLowerCase()}.${version.toLowerCase()}.${name}`;
}

/** A reference to a component. */
export function ref(component: string): Schema {
  return { $ref: `#/components/schemas/${component}` };
}

/**
 * Adds the schema of a kind and of everything it leads to.
 *
 * @returns the name of the kind's own schema
 * @throws Error when a built-in kind has no model
 */
export function addKind(components: Components, kind: Kind, models: Models): string {
  const { group, version } = kind;
  const identity = [{ group, version, kind: kind.kind }];
  if (kind.schema !== undefined) {
    const name = `${group.split(".").reverse().join(".")}.${version}.${kind.kind}`;
    const metadata = addModel(components, "V1ObjectMeta", models, undefined);
    components.set(name, { ...customSchema(kind.schema, metadata), "x-kubernetes-group-version-kind": identity });
    return name;
  }
  const name = addModel(components, modelOf(kind), models, mergeNodeOf(kind));
  const schema = components.get(name);
  if (schema !== undefined) schema["x-kubernetes-group-version-kind"] = identity;
  return name;
}

function customSchema(source: SchemaSource, metadata: string): Schema {
  const { metadata: own, ...properties } = source.properties ?? {};
  return {
    ...source,
    properties: {
      ...properties,
      apiVersion: source.properties?.apiVersion ?? {
        type: "string",
        description: "Version of the API of this object.",
      },
      kind: source.properties?.kind ?? { type: "string", description: "Kind of this object." },
      metadata: { description: own?.description ?? "Name, labels and the like.", allOf: [ref(metadata)] },
    },
  };
}

/**
 * Adds a model and those below it.
 *
 * @param merge how lists below it are merged by a strategic merge patch; a model that is reached twice is marked wherever
 *   one of the ways says so, because the rule belongs to the type
 */
export function addModel(components: Components, name: string, models: Models, merge: MergeNode | undefined): string {
  const component = componentName(name);
  const known = components.get(component);
  if (known !== undefined && merge === undefined) return component;
  const model = models.get(name);
  if (model === undefined) throw new Error(`the client library has no model ${name}`);
  const properties: Record<string, Schema> = (known?.properties as Record<string, Schema> | undefined) ?? {};
  if (known === undefined) {
    const required = [...model.fields.values()].filter((field) => field.required).map((field) => field.name);
    components.set(component, {
      description: model.description,
      type: "object",
      properties,
      ...(required.length === 0 ? {} : { required }),
    });
  }
  for (const field of model.fields.values()) {
    const below = merge?.members?.[field.name];
    if (known !== undefined && below === undefined) continue;
    properties[field.name] = fieldSchema(components, field, models, below);
  }
  return component;
}

function fieldSchema(components: Components, field: Field, models: Models, merge: MergeNode | undefined): Schema {
  const inner = merge?.list === undefined ? merge : merge.item;
  const schema = typeSchema(components, field.type, models, inner);
  const described =
    field.description === ""
      ? schema
      : "$ref" in schema
        ? { description: field.description, allOf: [schema] }
        : { description: field.description, ...schema };
  if (merge?.list === undefined) return described;
  return {
    ...described,
    "x-kubernetes-patch-strategy": merge.retainKeys === true ? "merge,retainKeys" : "merge",
    ...(merge.list === "values" ? {} : { "x-kubernetes-patch-merge-key": merge.list.key }),
  };
}

function typeSchema(components: Components, type: FieldType, models: Models, merge: MergeNode | undefined): Schema {
  switch (type.form) {
    case "string":
    case "boolean":
      return { type: type.form };
    case "integer":
      return { type: "integer", format: "int64" };
    case "time":
      return { type: "string", format: "date-time" };
    case "int-or-string":
      return { oneOf: [{ type: "integer" }, { type: "string" }], "x-kubernetes-int-or-string": true };
    case "any":
      return { type: "object", "x-kubernetes-preserve-unknown-fields": true };
    case "array":
      return { type: "array", items: typeSchema(components, type.items, models, merge) };
    case "map":
      return { type: "object", additionalProperties: typeSchema(components, type.values, models, merge) };
    case "model":
      return ref(addModel(components, type.name, models, merge));
    default:
      return type satisfies never;
  }
}
