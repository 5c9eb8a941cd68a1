import type { OwnerReference } from "#api/meta.ts";
import { badRequest } from "./errors.ts";
import { type FieldError, forbidden, invalid, required, tooLong } from "./field-errors.ts";
import { equalJson, isObject, isStringMap, type JsonObject } from "./json.ts";
import { labelValueProblems, nameProblems, qualifiedNameProblems } from "./names.ts";
import type { Draft, DraftMeta, Kind, StoredObject } from "./types.ts";

/** metav1.ObjectMeta of a request: reading it, and what may not be in it. */

const strings = new Set([
  "name",
  "namespace",
  "generateName",
  "uid",
  "resourceVersion",
  "creationTimestamp",
  "deletionTimestamp",
]);
const numbers = new Set(["generation", "deletionGracePeriodSeconds"]);
const stringMaps = new Set(["labels", "annotations"]);
/** Accepted from clients and not kept: field ownership belongs to server-side apply, selfLink is history. */
const ignored = new Set(["managedFields", "selfLink"]);

/**
 * Reads the metadata of a body into members of known types. Null members count as absent, unknown ones go to
 * `unknown`.
 *
 * @throws StatusError 400 when a member has the wrong type.
 */
export function readMetadata(body: JsonObject, unknown: string[], context: string): DraftMeta {
  const source = body.metadata ?? {};
  if (!isObject(source)) throw wrongType(context, source, "metadata", "v1.ObjectMeta");
  const meta: JsonObject = {};
  for (const [key, value] of Object.entries(source)) {
    if (value === null || ignored.has(key)) continue;
    if (strings.has(key)) {
      if (typeof value !== "string") throw wrongType(context, value, `metadata.${key}`, "string");
      if (value !== "") meta[key] = value;
    } else if (numbers.has(key)) {
      if (!Number.isSafeInteger(value)) throw wrongType(context, value, `metadata.${key}`, "int64");
      meta[key] = value;
    } else if (stringMaps.has(key)) {
      if (!isStringMap(value)) throw wrongType(context, wrongMember(value), `metadata.${key}`, "string");
      if (Object.keys(value).length > 0) meta[key] = value;
    } else if (key === "finalizers") {
      if (!Array.isArray(value) || value.some((item) => typeof item !== "string")) {
        throw wrongType(context, value, "metadata.finalizers", "[]string");
      }
      if (value.length > 0) meta[key] = [...new Set(value)];
    } else if (key === "ownerReferences") {
      if (!Array.isArray(value) || !value.every(isOwnerReference)) {
        throw wrongType(context, value, "metadata.ownerReferences", "[]v1.OwnerReference");
      }
      if (value.length > 0) meta[key] = value;
    } else {
      unknown.push(`metadata.${key}`);
    }
  }
  return { name: "", ...meta };
}

function isOwnerReference(value: unknown): value is OwnerReference {
  if (!isObject(value)) return false;
  for (const key of ["apiVersion", "kind", "name", "uid"]) {
    if (value[key] !== undefined && typeof value[key] !== "string") return false;
  }
  return ["controller", "blockOwnerDeletion"].every(
    (key) => value[key] === undefined || value[key] === null || typeof value[key] === "boolean",
  );
}

function wrongMember(value: unknown): unknown {
  return isObject(value) ? Object.values(value).find((item) => typeof item !== "string") : value;
}

function wrongType(context: string, value: unknown, path: string, type: string) {
  return badRequest(
    `${context}json: cannot unmarshal ${jsonTypeOf(value)} into Go struct field ObjectMeta.${path} of type ${type}`,
  );
}

function jsonTypeOf(value: unknown): string {
  if (Array.isArray(value)) return "array";
  if (typeof value === "boolean") return "bool";
  return typeof value;
}

/** What is wrong with the metadata of a prepared object, whether new or changed. */
export function validateMetadata(kind: Kind, draft: Draft): FieldError[] {
  const { metadata } = draft;
  const errors: FieldError[] = [];
  if (metadata.name === "") errors.push(required("metadata.name", "name or generateName is required"));
  else
    for (const problem of nameProblems(metadata.name, kind.nameRule))
      errors.push(invalid("metadata.name", metadata.name, problem));
  for (const [key, value] of Object.entries(metadata.labels ?? {})) {
    for (const problem of qualifiedNameProblems(key)) errors.push(invalid("metadata.labels", key, problem));
    for (const problem of labelValueProblems(value)) errors.push(invalid("metadata.labels", value, problem));
  }
  errors.push(...validateAnnotations(metadata.annotations));
  for (const finalizer of metadata.finalizers ?? []) {
    for (const problem of qualifiedNameProblems(finalizer))
      errors.push(invalid("metadata.finalizers", finalizer, problem));
  }
  const { finalizers = [] } = metadata;
  if (finalizers.includes("orphan") && finalizers.includes("foregroundDeletion")) {
    const detail = "finalizer orphan and foregroundDeletion cannot be both set";
    errors.push(invalid("metadata.finalizers", finalizers, detail));
  }
  errors.push(...validateOwners(metadata.ownerReferences));
  return errors;
}

/** Sum of keys and values that the API server takes. */
const maxAnnotationBytes = 256 * 1024;

function validateAnnotations(annotations: Readonly<Record<string, string>> | undefined): FieldError[] {
  if (annotations === undefined) return [];
  const errors: FieldError[] = [];
  let size = 0;
  for (const [key, value] of Object.entries(annotations)) {
    for (const problem of qualifiedNameProblems(key.toLowerCase()))
      errors.push(invalid("metadata.annotations", key, problem));
    size += Buffer.byteLength(key) + Buffer.byteLength(value);
  }
  if (size > maxAnnotationBytes) errors.push(tooLong("metadata.annotations", maxAnnotationBytes));
  return errors;
}

function validateOwners(owners: readonly OwnerReference[] | undefined): FieldError[] {
  if (owners === undefined) return [];
  const errors: FieldError[] = [];
  const path = "metadata.ownerReferences";
  for (const owner of owners) {
    if (!owner.apiVersion)
      errors.push(invalid(`${path}.apiVersion`, owner.apiVersion ?? "", "version must not be empty"));
    if (!owner.kind) errors.push(invalid(`${path}.kind`, owner.kind ?? "", "must not be empty"));
    if (!owner.name) errors.push(invalid(`${path}.name`, owner.name ?? "", "must not be empty"));
    if (!owner.uid) errors.push(invalid(`${path}.uid`, owner.uid ?? "", "must not be empty"));
  }
  const [first, second] = owners.filter((owner) => owner.controller === true);
  if (first !== undefined && second !== undefined) {
    const found = `${first.kind}/${first.name} and ${second.kind}/${second.name}`;
    const detail = `Only one reference can have Controller set to true. Found "true" in references for ${found}`;
    errors.push(invalid(path, owners, detail));
  }
  return errors;
}

/** What an update may leave out and the server then keeps. */
export function inheritMetadata(draft: Draft, old: StoredObject): void {
  const { metadata } = draft;
  metadata.uid ??= old.metadata.uid;
  metadata.creationTimestamp = old.metadata.creationTimestamp; // changes are ignored, not refused
  // generation is the server's own: whatever the client sent is overwritten
  if (old.metadata.generation === undefined) delete metadata.generation;
  else metadata.generation = old.metadata.generation;
  if (old.metadata.namespace !== undefined) metadata.namespace ??= old.metadata.namespace;
  if (old.metadata.deletionTimestamp !== undefined) {
    metadata.deletionTimestamp = old.metadata.deletionTimestamp;
    if (old.metadata.deletionGracePeriodSeconds !== undefined) {
      metadata.deletionGracePeriodSeconds ??= old.metadata.deletionGracePeriodSeconds;
    }
  }
  if (old.metadata.generateName !== undefined) metadata.generateName ??= old.metadata.generateName;
}

const immutable = ["name", "namespace", "uid", "deletionTimestamp", "deletionGracePeriodSeconds"] as const;

/** What an update changes and must not. */
export function validateMetadataUpdate(draft: Draft, old: StoredObject): FieldError[] {
  const errors: FieldError[] = [];
  for (const field of immutable) {
    const value = draft.metadata[field];
    if (!equalJson(value, old.metadata[field])) errors.push(invalid(`metadata.${field}`, value, "field is immutable"));
  }
  if (old.metadata.deletionTimestamp !== undefined) {
    const before = new Set(old.metadata.finalizers);
    const added = (draft.metadata.finalizers ?? []).filter((finalizer) => !before.has(finalizer));
    if (added.length > 0) {
      const list = added.map((finalizer) => JSON.stringify(finalizer)).join(", ");
      errors.push(
        forbidden(
          "metadata.finalizers",
          `no new finalizers can be added if the object is being deleted, found new finalizers []string{${list}}`,
        ),
      );
    }
  }
  return errors;
}
