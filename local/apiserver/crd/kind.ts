import { type FieldError, noField } from "../field-errors.ts";
import { fieldReader, keep } from "../kinds/define.ts";
import { encodeOnce } from "../kinds/encode-once.ts";
import type { Draft, Kind, ScalePaths, StoredObject } from "../types.ts";
import { applyDefaults } from "./default.ts";
import { evaluateRules, rulesBlockedBy } from "./evaluate.ts";
import { validateListTypes } from "./list-types.ts";
import { prune } from "./prune.ts";
import { compileSchema, type SchemaNode } from "./schema.ts";
import type { CustomResourceDefinitionSpec, CustomResourceVersion } from "./types.ts";
import { childPath, validateNode } from "./validate.ts";

/**
 * One served version of a CRD as a kind. Versions differ in name and schema only (conversion strategy None).
 *
 * @throws Error with the path inside the version.
 */
export function defineCustomKind(spec: CustomResourceDefinitionSpec, version: CustomResourceVersion): Kind {
  const { group, names } = spec;
  const apiVersion = `${group}/${version.name}`;
  const source = version.schema?.openAPIV3Schema;
  if (source === undefined) throw new Error("schema.openAPIV3Schema: Required value: schemas are required");
  const schema = compileSchema(source);
  const hasStatus = version.subresources?.status !== undefined;
  const scale = version.subresources?.scale;
  const storageVersion = `${group}/${spec.versions.find((candidate) => candidate.storage)?.name ?? version.name}`;
  return {
    group,
    version: version.name,
    apiVersion,
    kind: names.kind,
    listKind: names.listKind ?? `${names.kind}List`,
    plural: names.plural,
    singular: names.singular ?? names.kind.toLowerCase(),
    shortNames: names.shortNames ?? [],
    categories: names.categories ?? [],
    namespaced: spec.scope === "Namespaced",
    resource: `${names.plural}.${group}`,
    custom: true,
    schema: source,
    columns: version.additionalPrinterColumns ?? [],
    subresources: new Set([...(hasStatus ? ["status"] : []), ...(scale === undefined ? [] : ["scale"])]),
    ...(scale === undefined ? {} : { scale: scalePaths(scale) }),
    generation: true,
    unconditionalUpdate: false,
    selectable: selectableFields(version, schema),
    unknownField: (label) => `field label not supported: ${label}`,
    nameRule: "subdomain",
    returnsDeleted: false,
    ...(storageVersion === apiVersion ? {} : { encode: encodeOnce((object) => ({ ...object, apiVersion })) }),

    admit(draft, unknown) {
      const dropped: string[] = [];
      const pruned = prune(schema, draft, "", dropped);
      unknown.push(...dropped.sort());
      return { ...(applyDefaults(schema, pruned) as Draft), apiVersion: storageVersion };
    },
    prepareCreate(draft) {
      if (hasStatus) delete draft.status;
    },
    prepareUpdate(draft, old, subresource) {
      if (subresource === "status") keepAllButStatus(draft, old);
      else if (hasStatus) keep(draft, old, "status");
    },
    validate: (draft, old, subresource) => validate(schema, draft, old, subresource),
    complete(draft) {
      // The status was dropped after defaults were applied; the real server fills it in when it reads the object back.
      if (schema.defaultsWithin) Object.assign(draft, applyDefaults(schema, draft));
    },
  };
}

function validate(
  schema: SchemaNode,
  draft: Draft,
  old: StoredObject | undefined,
  subresource: string | undefined,
): FieldError[] {
  const errors = subresource === "status" ? validateStatus(schema, draft, old) : validateWhole(schema, draft, old);
  validateListTypes(schema, draft, old, "", errors);
  if (!schema.rulesWithin) return errors;
  const blocked = rulesBlockedBy(errors);
  if (blocked !== undefined) errors.push(blocked);
  else evaluateRules(schema, draft, old, "", errors);
  return errors;
}

function validateWhole(schema: SchemaNode, draft: Draft, old: StoredObject | undefined): FieldError[] {
  const errors: FieldError[] = [];
  validateNode(schema, draft, old, "", errors);
  return errors;
}

/** The real server hands its validator the status alone here, so the paths inside messages begin there. */
function validateStatus(schema: SchemaNode, draft: Draft, old: StoredObject | undefined): FieldError[] {
  const node = schema.properties.get("status");
  if (node === undefined || draft.status === undefined) return [];
  const errors: FieldError[] = [];
  validateNode(node, draft.status, old?.status, "", errors);
  return errors.map((error) => ({ ...error, field: placeInStatus(error.field) }));
}

function placeInStatus(field: string): string {
  return field === "" || field === noField ? "status" : childPath("status", field);
}

/** A write to /status of a custom object changes status and nothing else, metadata included. */
function keepAllButStatus(draft: Draft, old: StoredObject): void {
  const { status } = draft;
  for (const member of Object.keys(draft)) if (member !== "metadata") delete draft[member];
  Object.assign(draft, old, { metadata: { ...old.metadata } });
  if (status === undefined) delete draft.status;
  else draft.status = status;
}

const splitPath = (path: string): string[] => path.replace(/^\./, "").split(".");

function scalePaths(scale: NonNullable<NonNullable<CustomResourceVersion["subresources"]>["scale"]>): ScalePaths {
  return {
    specReplicas: splitPath(scale.specReplicasPath),
    statusReplicas: splitPath(scale.statusReplicasPath),
    ...(scale.labelSelectorPath === undefined ? {} : { labelSelector: splitPath(scale.labelSelectorPath) }),
  };
}

/** As many as the API server allows for each version. */
const maxSelectableFields = 8;

function selectableFields(version: CustomResourceVersion, schema: SchemaNode): Kind["selectable"] {
  const paths = (version.selectableFields ?? []).map(({ jsonPath }) => jsonPath);
  if (paths.length > maxSelectableFields)
    throw new Error(`selectableFields: Too many: ${paths.length}: must have at most ${maxSelectableFields} items`);
  return new Map(
    paths.map((path) => {
      let node: SchemaNode | undefined = schema;
      for (const name of splitPath(path)) node = node?.properties.get(name);
      if (node === undefined) {
        throw new Error(
          `selectableFields: Invalid value: ${JSON.stringify(path)}: is an invalid path: no such field in the schema`,
        );
      }
      const { type } = node.source;
      if (type !== "string" && type !== "integer" && type !== "boolean") {
        throw new Error(
          `selectableFields: Invalid value: ${JSON.stringify(path)}: must point to a field of type string, boolean or integer`,
        );
      }
      const label = path.replace(/^\./, "");
      return [label, fieldReader(label)];
    }),
  );
}
