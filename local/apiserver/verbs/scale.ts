import type { Context } from "../context.ts";
import { copyBody } from "../decode.ts";
import { badRequest, invalidObject, methodNotAllowed } from "../errors.ts";
import { invalid } from "../field-errors.ts";
import { getOwn, getPath, isObject, type JsonObject, setOwn } from "../json.ts";
import type { Verb } from "../routes.ts";
import type { Answer, Draft, ScalePaths, StoredObject, Target, VerbRequest } from "../types.ts";
import { patchedBody, readPatch } from "./patch.ts";
import { find } from "./read.ts";
import { mutate } from "./update.ts";

/** The scale subresource: replicas of any kind, in one form (autoscaling/v1 Scale). */
export async function scale(context: Context, verb: Verb, request: VerbRequest): Promise<Answer> {
  const { target } = request;
  const paths = target.kind.scale;
  if (paths === undefined) throw methodNotAllowed();
  switch (verb) {
    case "get":
      return { code: 200, body: scaleOf(find(context, target), paths), warnings: [] };
    case "update": {
      const body = copyBody(request.body);
      return write(context, request, paths, () => body);
    }
    case "patch": {
      const apply = readPatch(request);
      return write(context, request, paths, (old) => patchedBody(apply, scaleOf(old, paths)));
    }
    default:
      throw methodNotAllowed();
  }
}

async function write(
  context: Context,
  request: VerbRequest,
  paths: ScalePaths,
  compute: (old: StoredObject) => unknown,
): Promise<Answer> {
  const whole = { ...request, target: { ...request.target, subresource: undefined } };
  const answer = await mutate(context, whole, (old) => {
    const body = compute(old);
    const replicas = readReplicas(request.target, body, old);
    const draft: Draft = { ...old, metadata: { ...old.metadata } };
    setPath(draft, paths.specReplicas, replicas);
    const version = getPath(body, ["metadata", "resourceVersion"]);
    if (typeof version === "string" && version !== "") draft.metadata.resourceVersion = version;
    return { draft, warnings: [] };
  });
  return { ...answer, body: scaleOf(answer.body as StoredObject, paths) };
}

function readReplicas(target: Target, body: unknown, old: StoredObject): number {
  if (!isObject(body)) throw badRequest("the body of a scale request is a Scale object");
  const replicas = getPath(body, ["spec", "replicas"]) ?? 0;
  if (typeof replicas !== "number" || !Number.isSafeInteger(replicas) || replicas < 0) {
    throw invalidObject({ ...target.kind, group: "autoscaling", kind: "Scale" }, old.metadata.name, [
      invalid("spec.replicas", replicas, "should be a non-negative integer"),
    ]);
  }
  return replicas;
}

/** Sets a value below a draft; what is on the way is copied, because it belongs to the stored object. */
function setPath(target: JsonObject, path: readonly string[], value: unknown): void {
  const [key, ...rest] = path;
  if (key === undefined) return;
  if (rest.length === 0) {
    setOwn(target, key, value);
    return;
  }
  const child = getOwn(target, key);
  const copy = isObject(child) ? { ...child } : {};
  setPath(copy, rest, value);
  setOwn(target, key, copy);
}

function scaleOf(object: StoredObject, paths: ScalePaths): object {
  const { name, namespace, uid, resourceVersion, creationTimestamp } = object.metadata;
  const selector = paths.labelSelector === undefined ? undefined : selectorText(getPath(object, paths.labelSelector));
  return {
    kind: "Scale",
    apiVersion: "autoscaling/v1",
    metadata: { name, namespace, uid, resourceVersion, creationTimestamp },
    spec: { replicas: getPath(object, paths.specReplicas) ?? 0 },
    status: {
      replicas: getPath(object, paths.statusReplicas) ?? 0,
      ...(selector === undefined ? {} : { selector }),
    },
  };
}

/** A selector as text; custom kinds store it as such, built-in ones as a LabelSelector. */
function selectorText(selector: unknown): string | undefined {
  if (typeof selector === "string") return selector;
  const labels = getPath(selector, ["matchLabels"]);
  if (!isObject(labels)) return undefined;
  return Object.entries(labels)
    .map(([key, value]) => `${key}=${String(value)}`)
    .join(",");
}
