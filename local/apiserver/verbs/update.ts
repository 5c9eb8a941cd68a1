import { type Context, keyOfObject } from "../context.ts";
import { checkUnknown, copyBody, decodeObject, decodingContext, readFieldValidation } from "../decode.ts";
import { badRequest, conflict, missingVersion, modified } from "../errors.ts";
import type { Answer, Draft, StoredObject, Target, VerbRequest } from "../types.ts";
import { admitWrite, encode, isDryRun, prepareUpdate } from "./prepare.ts";
import { find } from "./read.ts";

/** What a write wants the object to be, computed from what it is. */
export interface Desired {
  readonly draft: Draft;
  readonly warnings: readonly string[];
}

/** How often a write that names no version is computed again when the object changed while admission was asked. */
const maxAttempts = 5;

/** PUT of an object or of its status. */
export async function update(context: Context, request: VerbRequest): Promise<Answer> {
  const { target } = request;
  const { kind, name = "" } = target;
  const mode = readFieldValidation(request.query.fieldValidation, "UpdateOptions");
  const { draft, unknown } = decodeObject(kind, copyBody(request.body));
  const warnings = checkUnknown(unknown, mode, (text) => badRequest(`${decodingContext(kind)}${text}`));
  checkIdentity(target, draft);
  return mutate(context, request, (old) => {
    const { uid } = draft.metadata;
    if (uid !== undefined && uid !== old.metadata.uid) throw uidMismatch(target, name, uid, old.metadata.uid);
    return { draft: { ...draft, metadata: { ...draft.metadata } }, warnings };
  });
}

function checkIdentity(target: Target, draft: Draft): void {
  const { name = "", namespace } = target;
  if (draft.metadata.name === "") {
    throw badRequest(`the name of the object (${name} based on URL) was undeterminable: name must be provided`);
  }
  if (draft.metadata.name !== name) {
    throw badRequest(`the name of the object (${draft.metadata.name}) does not match the name on the URL (${name})`);
  }
  const { namespace: given } = draft.metadata;
  if (namespace !== "" && given !== undefined && given !== namespace) {
    throw badRequest(
      `the namespace of the object (${given}) does not match the namespace on the request (${namespace})`,
    );
  }
}

function uidMismatch(target: Target, name: string, given: string, stored: string) {
  const { kind, namespace } = target;
  const group = kind.group === "" ? "" : `/${kind.group}`;
  const key = `/registry${group}/${kind.plural}/${namespace === "" ? "" : `${namespace}/`}${name}`;
  return conflict(
    kind,
    name,
    `StorageError: invalid object, Code: 4, Key: ${key}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: ${given}, UID in object meta: ${stored}`,
  );
}

/**
 * Read, compute, validate, admit, write: the frame of every write to an existing object. Only admission may take time;
 * when the object changed meanwhile everything is computed again.
 *
 * @throws StatusError 404, 409, 422, 403
 */
export async function mutate(
  context: Context,
  request: VerbRequest,
  compute: (old: StoredObject) => Desired,
): Promise<Answer> {
  const { target } = request;
  const dryRun = isDryRun(request.query, "UpdateOptions");
  for (let attempt = 1; ; attempt++) {
    const old = find(context, target);
    const { draft, warnings: unknown } = compute(old);
    const warnings = [...unknown];
    checkVersion(target, draft, old);
    const next = prepareUpdate(target, draft, old);
    const pending = admitWrite(context, request, "UPDATE", next, old, warnings);
    if (pending !== undefined) {
      await pending;
      if (find(context, target) !== old) {
        if (attempt === maxAttempts) throw modified(target.kind, old.metadata.name);
        continue;
      }
    }
    const stored = next === old || dryRun ? (next as StoredObject) : commit(context, target, next as Draft, old);
    return { code: 200, body: encode(target, stored), warnings };
  }
}

function checkVersion(target: Target, draft: Draft, old: StoredObject): void {
  const { kind } = target;
  const { resourceVersion } = draft.metadata;
  if (resourceVersion === undefined || resourceVersion === "0") {
    if (kind.unconditionalUpdate) return;
    throw missingVersion(kind, old.metadata.name);
  }
  if (resourceVersion !== old.metadata.resourceVersion) throw modified(kind, old.metadata.name);
}

/** Stores, or removes when the last finalizer of a deleted object has gone. */
export function commit(context: Context, target: Pick<Target, "kind">, draft: Draft, old: StoredObject): StoredObject {
  const { resource } = target.kind;
  if (isFinished(draft, old) && target.kind.holdsDeletion?.(draft) !== true) {
    context.remove(keyOfObject(resource, old));
    return draft as unknown as StoredObject;
  }
  return context.put(resource, draft);
}

function isFinished(draft: Draft, old: StoredObject): boolean {
  return (
    old.metadata.deletionTimestamp !== undefined &&
    old.metadata.deletionGracePeriodSeconds === 0 &&
    (draft.metadata.finalizers ?? []).length === 0
  );
}
