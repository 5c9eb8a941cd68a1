import type { ApiStatus } from "#api/meta.ts";
import { type Context, keyOfObject, timestamp } from "../context.ts";
import { copyBody } from "../decode.ts";
import { badRequest, conflict, forbiddenRequest, invalidOptions } from "../errors.ts";
import { notSupported } from "../field-errors.ts";
import { equalJson, isObject } from "../json.ts";
import { compileSelectors } from "../selectors/match.ts";
import type { Answer, Draft, Kind, StoredObject, VerbRequest } from "../types.ts";
import { admitWrite, encode, isDryRun } from "./prepare.ts";
import { find, list } from "./read.ts";

/** What becomes of the dependents of a deleted object. */
export type Propagation = "Background" | "Foreground" | "Orphan";

/** metav1.DeleteOptions, as far as it has a meaning here. */
export interface DeleteOptions {
  readonly gracePeriodSeconds?: number;
  readonly propagationPolicy?: Propagation;
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
  /** Only rehearse. */
  readonly dryRun?: boolean;
  /** `orphanDependents: false`, the old way to say Background: whoever uses it is told by 202 that the object is still there. */
  readonly tellsWaiting?: boolean;
}

/** Held by an owner until its dependents have lost their reference to it. */
export const orphanFinalizer = "orphan";
/** Held by an owner until its blocking dependents are gone. */
export const foregroundFinalizer = "foregroundDeletion";

/** DELETE of an object. */
export async function remove(context: Context, request: VerbRequest): Promise<Answer> {
  const options = readDeleteOptions(request);
  const { target } = request;
  for (;;) {
    const old = find(context, target);
    checkPreconditions(target.kind, old, options);
    const reason = target.kind.forbidsDeletion?.(old);
    if (reason !== undefined) throw forbiddenRequest(target.kind, old.metadata.name, reason);
    const pending = admitWrite(context, request, "DELETE", undefined, old);
    if (pending !== undefined) {
      await pending;
      if (find(context, target) !== old) continue; // decide again about what is there now
    }
    if (options.dryRun === true) return { code: 200, body: encode(target, old), warnings: [] };
    const { object, gone } = deleteObject(context, target.kind, old, options);
    const body = gone && !target.kind.returnsDeleted ? deletedStatus(target.kind, object) : encode(target, object);
    return { code: !gone && options.tellsWaiting === true ? 202 : 200, body, warnings: [] };
  }
}

/** DELETE of a collection: every matching object, each by the rules of a single deletion. */
export async function removeCollection(context: Context, request: VerbRequest): Promise<Answer> {
  const { target, query } = request;
  const options = readDeleteOptions(request);
  const answer = list(context, request);
  const match = compileSelectors(target.kind, query.labelSelector, query.fieldSelector);
  const namespace = target.namespace === "" ? undefined : target.namespace;
  for (const old of [...context.storage.list(target.kind.resource, namespace)]) {
    if (!match(old)) continue;
    await admitWrite(context, request, "DELETE", undefined, old);
    const now = context.storage.get(keyOfObject(target.kind.resource, old));
    if (now !== undefined && options.dryRun !== true) deleteObject(context, target.kind, now, options);
  }
  return answer;
}

/**
 * Deletes by the rules of the API server: at once, or by a deletionTimestamp while there is a grace period or a
 * finalizer. Synchronous; the caller has checked preconditions and admission.
 *
 * @returns the object as it is afterwards, or last was when it is gone.
 */
export function deleteObject(
  context: Context,
  kind: Kind,
  old: StoredObject,
  options: DeleteOptions,
): { readonly object: StoredObject; readonly gone: boolean } {
  const now = context.clock.now();
  const draft: Draft = { ...old, metadata: { ...old.metadata } };
  const { metadata } = draft;

  const grace = graceOf(kind, old, options);
  if (grace === "pending") return { object: old, gone: false };
  const finalizers = collectionFinalizers(old, options);
  if (finalizers.length > 0) metadata.finalizers = finalizers;
  else delete metadata.finalizers;
  const held = finalizers.length > 0 || kind.holdsDeletion?.(old) === true;

  if (grace !== undefined) {
    if (old.metadata.deletionTimestamp === undefined) {
      if (metadata.generation !== undefined) metadata.generation += 1;
      metadata.deletionTimestamp = timestamp(now + grace * 1000);
      metadata.deletionGracePeriodSeconds = grace;
    } else {
      shortenGrace(draft, grace, now);
    }
  } else if (held) {
    markDeleting(draft, now);
  }

  const waits = held || (grace ?? 0) > 0;
  if (!waits && grace === undefined) return { object: context.remove(keyOfObject(kind.resource, old)), gone: true };
  kind.prepareDelete?.(draft);
  if (equalJson(draft, old)) return { object: old, gone: false };
  const stored = context.put(kind.resource, draft);
  if (waits) return { object: stored, gone: false };
  return { object: context.remove(keyOfObject(kind.resource, stored)), gone: true };
}

/**
 * The grace period that this request sets in seconds; `pending` when the object is being deleted and the request does not
 * shorten that; undefined for kinds that know no grace.
 */
function graceOf(kind: Kind, old: StoredObject, options: DeleteOptions): number | "pending" | undefined {
  if (kind.gracePeriod === undefined) return undefined;
  if (old.metadata.deletionTimestamp === undefined) return kind.gracePeriod(old, options.gracePeriodSeconds);
  const current = old.metadata.deletionGracePeriodSeconds ?? 0;
  if (current === 0) return undefined; // only finalizers keep it
  if (options.gracePeriodSeconds === undefined || options.gracePeriodSeconds >= current) return "pending";
  return options.gracePeriodSeconds;
}

/** Finalizers with those of the garbage collector as the propagation policy wants them. */
function collectionFinalizers(old: StoredObject, options: DeleteOptions): string[] {
  const present = old.metadata.finalizers ?? [];
  const policy =
    options.propagationPolicy ??
    (present.includes(orphanFinalizer)
      ? "Orphan"
      : present.includes(foregroundFinalizer)
        ? "Foreground"
        : "Background");
  const others = present.filter((finalizer) => finalizer !== orphanFinalizer && finalizer !== foregroundFinalizer);
  if (policy === "Orphan") return [...others, orphanFinalizer];
  if (policy === "Foreground") return [...others, foregroundFinalizer];
  return others;
}

/** Moves the end of a deletion forward, counted from its beginning, but not into the past. */
function shortenGrace({ metadata }: Draft, grace: number, now: number): void {
  const begun = Date.parse(metadata.deletionTimestamp ?? "") - (metadata.deletionGracePeriodSeconds ?? 0) * 1000;
  const end = begun + grace * 1000;
  metadata.deletionTimestamp = timestamp(Math.max(end, now));
  // What is over already still leaves somebody a moment to notice, unless none at all was asked for.
  metadata.deletionGracePeriodSeconds = end < now && grace !== 0 ? 1 : grace;
}

function markDeleting(draft: Draft, now: number): void {
  const { metadata } = draft;
  if (metadata.deletionTimestamp === undefined) {
    metadata.deletionTimestamp = timestamp(now);
    if (metadata.generation !== undefined) metadata.generation += 1;
  }
  metadata.deletionGracePeriodSeconds = 0;
}

function checkPreconditions(kind: Kind, old: StoredObject, { preconditions }: DeleteOptions): void {
  const { name, uid, resourceVersion } = old.metadata;
  if (preconditions?.uid !== undefined && preconditions.uid !== uid) {
    const why = `the UID in the precondition (${preconditions.uid}) does not match the UID in record (${uid}). The object might have been deleted and then recreated`;
    throw conflict(kind, name, why, "kind");
  }
  if (preconditions?.resourceVersion !== undefined && preconditions.resourceVersion !== resourceVersion) {
    const why = `the ResourceVersion in the precondition (${preconditions.resourceVersion}) does not match the ResourceVersion in record (${resourceVersion}). The object might have been modified`;
    throw conflict(kind, name, why, "kind");
  }
}

/** From the body, or from the query where there is no body. */
function readDeleteOptions(request: VerbRequest): DeleteOptions {
  const body = request.body === undefined || request.body === null ? {} : copyBody(request.body);
  if (!isObject(body)) throw badRequest("the body of a deletion is a DeleteOptions object");
  const seconds = body.gracePeriodSeconds ?? numberOf(request.query.gracePeriodSeconds);
  const orphan = body.orphanDependents ?? flagOf(request.query.orphanDependents);
  const policy = body.propagationPolicy ?? request.query.propagationPolicy ?? policyOf(orphan);
  const { preconditions } = body;
  const dryRun = Array.isArray(body.dryRun) ? String(body.dryRun[0] ?? "") : request.query.dryRun;
  if (seconds !== undefined && seconds !== null && (typeof seconds !== "number" || !Number.isSafeInteger(seconds))) {
    throw badRequest(
      `gracePeriodSeconds: Invalid value: ${JSON.stringify(seconds)}: must be a whole number of seconds`,
    );
  }
  if (
    policy !== undefined &&
    policy !== null &&
    policy !== "Background" &&
    policy !== "Foreground" &&
    policy !== "Orphan"
  ) {
    const supported = ["Foreground", "Background", "Orphan", "nil"];
    throw invalidOptions("DeleteOptions", [notSupported("propagationPolicy", policy, supported)]);
  }
  return {
    dryRun: isDryRun({ dryRun }, "DeleteOptions"),
    tellsWaiting: orphan === false,
    // A negative period counts as one second, as on the real server.
    ...(typeof seconds === "number" ? { gracePeriodSeconds: seconds < 0 ? 1 : seconds } : {}),
    ...(typeof policy === "string" ? { propagationPolicy: policy } : {}),
    ...(isObject(preconditions)
      ? { preconditions: { ...textOf(preconditions, "uid"), ...textOf(preconditions, "resourceVersion") } }
      : {}),
  };
}

const flagOf = (text: string | undefined): boolean | undefined =>
  text === "true" || text === "1" ? true : text === "false" || text === "0" ? false : undefined;

const policyOf = (orphan: unknown): Propagation | undefined =>
  orphan === true ? "Orphan" : orphan === false ? "Background" : undefined;

function numberOf(text: string | undefined): number | undefined {
  return text === undefined || text === "" ? undefined : Number(text);
}

function textOf(source: Record<string, unknown>, key: "uid" | "resourceVersion"): { [K in typeof key]?: string } {
  const value = source[key];
  return typeof value === "string" ? { [key]: value } : {};
}

/** Without a code, unlike failures. */
function deletedStatus(kind: Kind, object: StoredObject): Omit<ApiStatus, "code"> {
  return {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Success",
    details: {
      name: object.metadata.name,
      ...(kind.group === "" ? {} : { group: kind.group }),
      kind: kind.plural,
      uid: object.metadata.uid,
    },
  };
}
