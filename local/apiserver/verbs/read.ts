import { type Context, keyOfObject } from "../context.ts";
import { badRequest, expired, invalidOptions, notFound, versionTooLarge } from "../errors.ts";
import { forbidden, notSupported } from "../field-errors.ts";
import { compileSelectors, matchAll } from "../selectors/match.ts";
import { listAt } from "../snapshot.ts";
import type { StorageKey } from "../storage.ts";
import type { Answer, Kind, StoredObject, Target, VerbRequest } from "../types.ts";
import { type ContinueToken, decodeContinue, encodeContinue } from "./continue-token.ts";
import { encode } from "./prepare.ts";

/** GET of an object. */
export function get(context: Context, request: VerbRequest): Answer {
  return { code: 200, body: encode(request.target, find(context, request.target)), warnings: [] };
}

/** @throws StatusError 404 */
export function find(context: Context, target: Target): StoredObject {
  const { kind, namespace, name = "" } = target;
  const object = context.storage.get({ resource: kind.resource, namespace, name });
  if (object === undefined) throw notFound(kind, name);
  return object;
}

/** GET of a collection: everything, or a page of it that belongs to one consistent state. */
export function list(context: Context, request: VerbRequest): Answer {
  const { target, query } = request;
  const { kind } = target;
  const namespace = kind.namespaced && target.namespace !== "" ? target.namespace : undefined;
  const match = compileSelectors(kind, query.labelSelector, query.fieldSelector);
  const limit = readLimit(query.limit);
  const { storage } = context;
  const page = readPage(context, request, limit);

  const objects =
    page.revision === storage.revision
      ? storage.list(kind.resource, namespace, page.after)
      : listAt(storage, kind.resource, namespace, page.revision, page.after);
  if (objects === undefined) throw expiredList(page, storage.revision);

  const items: StoredObject[] = [];
  let next: StorageKey | undefined;
  let last: StoredObject | undefined;
  for (const object of objects) {
    if (!match(object)) continue;
    if (items.length === limit && last !== undefined) {
      next = keyOfObject(kind.resource, last);
      break;
    }
    items.push(asListItem(kind, object));
    last = object;
  }
  const metadata = {
    resourceVersion: String(page.revision),
    ...(next === undefined ? {} : { continue: encodeContinue({ revision: page.revision, after: next }) }),
    // With a selector nobody is told how many remain: it would cost a walk over all of them.
    ...(next === undefined || match !== matchAll ? {} : { remainingItemCount: remaining(next, items.length) }),
  };
  return { code: 200, body: { kind: kind.listKind, apiVersion: kind.apiVersion, metadata, items }, warnings: [] };

  function remaining(place: StorageKey, taken: number): number {
    return Array.isArray(objects) ? objects.length - taken : storage.count(kind.resource, namespace, place);
  }
}

function expiredList(page: ContinueToken, current: number) {
  if (page.after === undefined) {
    return expired(`The resourceVersion for the provided list is too old: ${page.revision}.`);
  }
  return expired(
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without " +
      "the continue parameter, or use the continue token in this response to retrieve the remainder of the results. " +
      "Continuing with the provided token results in an inconsistent list - objects that were created, modified, or " +
      "deleted between the time the first chunk was returned and now may show up in the list.",
    encodeContinue({ revision: current, after: page.after }),
  );
}

function readLimit(text: string | undefined): number {
  if (text === undefined || text === "") return Number.POSITIVE_INFINITY;
  const limit = Number(text);
  if (!Number.isSafeInteger(limit) || limit < 0) {
    throw badRequest(`limit: Invalid value: ${JSON.stringify(text)}: must be a whole number, not negative`);
  }
  return limit === 0 ? Number.POSITIVE_INFINITY : limit;
}

/** Which state to list, and where to go on. */
function readPage(context: Context, request: VerbRequest, limit: number): ContinueToken {
  const { query } = request;
  const current = context.storage.revision;
  const version = query.resourceVersion ?? "";
  const match = query.resourceVersionMatch ?? "";
  if (query.continue !== undefined && query.continue !== "") {
    if (version !== "" && version !== "0") {
      throw badRequest("specifying resource version is not allowed when using continue");
    }
    return decodeContinue(query.continue);
  }
  if (match !== "" && version === "") {
    const why = "resourceVersionMatch is forbidden unless resourceVersion is provided";
    throw invalidOptions("ListOptions", [forbidden("resourceVersionMatch", why)]);
  }
  if (match !== "" && match !== "Exact" && match !== "NotOlderThan") {
    throw invalidOptions("ListOptions", [notSupported("resourceVersionMatch", match, ["Exact", "NotOlderThan", ""])]);
  }
  if (version === "" || version === "0") return { revision: current, after: undefined };
  const revision = readVersion(version);
  if (revision > current) throw versionTooLarge(revision, current);
  // Without a match rule a limited list is exact and an unlimited one only "not older than".
  const exact = match === "Exact" || (match === "" && Number.isFinite(limit));
  return { revision: exact ? revision : current, after: undefined };
}

/** @throws StatusError 400 when the text is no version of this server. */
export function readVersion(text: string): number {
  if (!/^\d{1,15}$/.test(text)) {
    throw badRequest(
      `resourceVersion: Invalid value: ${JSON.stringify(text)}: strconv.ParseUint: parsing ${JSON.stringify(text)}: invalid syntax`,
    );
  }
  return Number(text);
}

/** Items of built-in lists carry no type of their own, as on the real server. */
const bare = new WeakMap<StoredObject, object>();

function asListItem(kind: Kind, object: StoredObject): StoredObject {
  const encoded = encode({ kind }, object);
  if (kind.custom) return encoded;
  let item = bare.get(encoded);
  if (item === undefined) {
    const { apiVersion: _apiVersion, kind: _kind, ...rest } = encoded;
    item = Object.freeze(rest);
    bare.set(encoded, item);
  }
  return item as StoredObject;
}
