import type { Random } from "#kube/ports.ts";
import { failure, StatusError } from "#kube/transport.ts";
import { type Context, timestamp } from "../context.ts";
import { checkUnknown, copyBody, decodeObject, decodingContext, readFieldValidation } from "../decode.ts";
import { alreadyExists, badRequest, methodNotAllowed, namespaceTerminating, noFreeName, notFound } from "../errors.ts";
import { validateMetadata } from "../metadata.ts";
import type { Answer, Draft, Kind, StoredObject, VerbRequest } from "../types.ts";
import { admitWrite, encode, isDryRun, refuseInvalid } from "./prepare.ts";

/** Letters of generated names: no vowels, so that no words come out (k8s.io/apimachinery util/rand). */
const suffixAlphabet = "bcdfghjklmnpqrstvwxz2456789";
const suffixLength = 5;
const maxGeneratedName = 63;
/** How often a taken name is drawn again before the request fails, as the real server does. */
const maxDraws = 8;

/** POST to a collection. */
export async function create(context: Context, request: VerbRequest): Promise<Answer> {
  const { target } = request;
  const { kind, namespace } = target;
  if (kind.namespaced && namespace === "") throw methodNotAllowed();
  const mode = readFieldValidation(request.query.fieldValidation, "CreateOptions");
  const dryRun = isDryRun(request.query, "CreateOptions");
  const { draft, unknown } = decodeObject(kind, copyBody(request.body));
  const warnings = checkUnknown(unknown, mode, (text) => badRequest(`${decodingContext(kind)}${text}`));
  placeInNamespace(draft, kind, namespace);
  checkNamespace(context, kind, namespace, draft.metadata.name);
  if (draft.metadata.resourceVersion !== undefined) {
    throw new StatusError(failure(500, "InternalError", "resourceVersion should not be set on objects to be created"));
  }

  const { generateName } = draft.metadata;
  const draws = draft.metadata.name === "" && generateName !== undefined ? maxDraws : 0;
  if (draws > 0) draft.metadata.name = drawName(context, kind, namespace, generateName ?? "");
  prepareCreate(context, kind, draft);
  const { name } = draft.metadata;
  refuseInvalid(target, name, [...validateMetadata(kind, draft), ...kind.validate(draft, undefined, undefined)]);
  kind.complete?.(draft);

  const pending = admitWrite(context, request, "CREATE", draft, undefined, warnings);
  if (pending !== undefined) {
    await pending;
    checkNamespace(context, kind, namespace, name);
  }
  const existing = context.storage.get({ resource: kind.resource, namespace, name });
  if (existing !== undefined) {
    if (draws > 0) throw noFreeName(kind, name);
    throw alreadyExists(kind, name, existing.metadata.deletionTimestamp !== undefined);
  }
  const stored = dryRun ? (draft as unknown as StoredObject) : context.put(kind.resource, draft);
  return { code: 201, body: encode(target, stored), warnings };
}

function placeInNamespace(draft: Draft, kind: Kind, namespace: string): void {
  const { metadata } = draft;
  if (!kind.namespaced) {
    delete metadata.namespace;
    return;
  }
  if (metadata.namespace !== undefined && metadata.namespace !== namespace) {
    throw badRequest("the namespace of the provided object does not match the namespace sent on the request");
  }
  metadata.namespace = namespace;
}

const namespaces = { group: "", kind: "Namespace", plural: "namespaces", resource: "namespaces" };

/** @throws StatusError 404 where the namespace does not exist, 403 where it is going away. */
export function checkNamespace(context: Context, kind: Kind, namespace: string, name: string): void {
  if (!kind.namespaced) return;
  const holder = context.storage.get({ resource: "namespaces", namespace: "", name: namespace });
  if (holder === undefined) throw notFound(namespaces, namespace);
  if (holder.metadata.deletionTimestamp !== undefined) throw namespaceTerminating(kind, name, namespace);
}

function drawName(context: Context, kind: Kind, namespace: string, base: string): string {
  let name = generateName(context.random, base);
  for (let draw = 1; draw < maxDraws; draw++) {
    if (context.storage.get({ resource: kind.resource, namespace, name }) === undefined) break;
    name = generateName(context.random, base);
  }
  return name;
}

/** `base` with five random letters, cut so that the whole fits into a label. */
export function generateName(random: Random, base: string): string {
  let suffix = "";
  for (let i = 0; i < suffixLength; i++) suffix += suffixAlphabet[Math.floor(random.next() * suffixAlphabet.length)];
  return `${base.slice(0, maxGeneratedName - suffixLength)}${suffix}`;
}

/** Sets the members that only the server decides. */
function prepareCreate(context: Context, kind: Kind, draft: Draft): void {
  const { metadata } = draft;
  metadata.uid = context.random.uuid();
  metadata.creationTimestamp = timestamp(context.clock.now());
  delete metadata.deletionTimestamp;
  delete metadata.deletionGracePeriodSeconds;
  if (kind.generation) metadata.generation = 1;
  else delete metadata.generation;
  kind.prepareCreate?.(draft, { now: () => context.clock.now() });
}
