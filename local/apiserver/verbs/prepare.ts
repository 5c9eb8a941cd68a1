import { admit } from "../admission.ts";
import type { Context } from "../context.ts";
import { invalidObject, invalidOptions } from "../errors.ts";
import { type FieldError, notSupported } from "../field-errors.ts";
import { equalJson, freezeJson, shareJson } from "../json.ts";
import { inheritMetadata, validateMetadata, validateMetadataUpdate } from "../metadata.ts";
import type { Draft, ReadonlyDraft, StoredObject, Target, VerbRequest } from "../types.ts";

/** The object as clients of this version read it. */
export function encode(target: Pick<Target, "kind">, object: StoredObject): StoredObject {
  return target.kind.encode?.(object) ?? object;
}

/** @throws StatusError 422 when there are errors. */
export function refuseInvalid(target: Target, name: string, errors: readonly FieldError[]): void {
  if (errors.length > 0) throw invalidObject(target.kind, name, errors);
}

/**
 * Whether the write is only rehearsed (`dryRun=All`).
 *
 * @param options what the parameters of the verb are called, e.g. `CreateOptions`.
 * @throws StatusError 422 for any other word.
 */
export function isDryRun(query: VerbRequest["query"], options: string): boolean {
  const { dryRun } = query;
  if (dryRun === undefined || dryRun === "") return false;
  if (dryRun !== "All") throw invalidOptions(options, [notSupported("dryRun", [dryRun], ["All"])]);
  return true;
}

/**
 * Makes a draft what an update of `old` would store: keeps what the server owns, keeps by reference what did not
 * change, counts the generation, and validates.
 *
 * @returns `old` itself when the update changes nothing.
 * @throws StatusError 422
 */
export function prepareUpdate(target: Target, draft: Draft, old: StoredObject): Draft | StoredObject {
  const { kind, subresource } = target;
  inheritMetadata(draft, old);
  kind.prepareUpdate?.(draft, old, subresource);
  shareUnchanged(draft, old);
  if (kind.generation && subresource === undefined && changesSpec(draft, old, kind.subresources.has("status"))) {
    draft.metadata.generation = (old.metadata.generation ?? 0) + 1;
  }
  refuseInvalid(target, old.metadata.name, [
    ...validateMetadata(kind, draft),
    ...validateMetadataUpdate(draft, old),
    ...kind.validate(draft, old, subresource),
  ]);
  kind.complete?.(draft);
  shareUnchanged(draft, old);
  return changesNothing(draft, old) ? old : draft;
}

function shareUnchanged(draft: Draft, old: StoredObject): void {
  for (const key of Object.keys(draft)) {
    if (key !== "metadata") draft[key] = shareJson(draft[key], old[key]);
  }
}

function membersOf(a: object, b: object): Set<string> {
  return new Set([...Object.keys(a), ...Object.keys(b)]);
}

function changesSpec(draft: Draft, old: StoredObject, ownStatus: boolean): boolean {
  for (const key of membersOf(draft, old)) {
    if (key === "metadata" || (key === "status" && ownStatus)) continue;
    if (draft[key] !== old[key]) return true;
  }
  return false;
}

function changesNothing(draft: Draft, old: StoredObject): boolean {
  for (const key of membersOf(draft, old)) {
    if (key !== "metadata" && draft[key] !== old[key]) return false;
  }
  return equalJson({ ...draft.metadata, resourceVersion: "" }, { ...old.metadata, resourceVersion: "" });
}

/**
 * Asks the admission rules about a write; stays synchronous while they are.
 * @param warnings gets what they have to tell
 */
export function admitWrite(
  context: Context,
  request: Pick<VerbRequest, "target" | "user">,
  operation: "CREATE" | "UPDATE" | "DELETE",
  object: ReadonlyDraft | undefined,
  oldObject: StoredObject | undefined,
  warnings: string[] = [],
): void | Promise<void> {
  if (context.admission.length === 0) return undefined;
  const { kind, namespace, subresource } = request.target;
  if (object !== undefined) freezeJson(object); // a rule that changes what it judges is a mistake: let it throw
  return admit(context.admission, kind, {
    operation,
    resource: kind.resource,
    kind: kind.kind,
    subresource,
    namespace,
    name: (object ?? oldObject)?.metadata.name ?? "",
    object,
    oldObject,
    userInfo: request.user,
    warn: (text) => void warnings.push(text),
  });
}
