import type { Kind } from "#local/apiserver/index.ts";
import { subresourcesOf, verbsOf } from "#local/discovery/verbs.ts";
import { ref, type Schema } from "./components.ts";

/** What can be done with a kind, as paths of an OpenAPI document: kubectl reads from them what the server understands. */
export type Paths = Record<string, Record<string, Schema>>;

const query = (name: string, description: string, type = "string"): Schema => ({
  name,
  in: "query",
  description,
  schema: { type },
});

const writing = [
  query("dryRun", "`All`: the request is checked in every respect and nothing is stored."),
  query("fieldValidation", "What unknown fields do: `Strict` refuses, `Warn` (default) reports, `Ignore` drops them."),
];
const listing = [
  query("labelSelector", "Only objects whose labels match."),
  query("fieldSelector", "Only objects whose fields match."),
  query("limit", "Objects on a page.", "integer"),
  query("continue", "Token of the page before."),
  query("resourceVersion", "State to list, or to watch from."),
  query("resourceVersionMatch", "`Exact` or `NotOlderThan`."),
  query("watch", "Stream changes.", "boolean"),
  query("timeoutSeconds", "Ends a watch.", "integer"),
  query("allowWatchBookmarks", "Send versions without changes now and then.", "boolean"),
];
const deleting = [
  query("dryRun", "`All`: nothing is deleted."),
  query("gracePeriodSeconds", "Time to end.", "integer"),
  query("propagationPolicy", "`Background`, `Foreground` or `Orphan`."),
];

const json = (schema: Schema) => ({ "application/json": { schema } });

/**
 * The paths of a kind.
 *
 * @param component name of the kind's schema
 */
export function pathsOf(kind: Kind, component: string): Paths {
  const root = kind.group === "" ? `/api/${kind.version}` : `/apis/${kind.group}/${kind.version}`;
  const collection = `${root}/${kind.namespaced ? "namespaces/{namespace}/" : ""}${kind.plural}`;
  const verbs = new Set(verbsOf(kind));
  const operation = (action: string, more: Schema = {}): Schema => ({
    "x-kubernetes-action": action,
    "x-kubernetes-group-version-kind": { group: kind.group, version: kind.version, kind: kind.kind },
    responses: { 200: { description: "OK", content: json(ref(component)) } },
    ...more,
  });
  const whole = { requestBody: { content: json(ref(component)) } };
  const patch = operation("patch", { parameters: writing, requestBody: { content: patchContent(kind) } });
  const list = { responses: { 200: { description: "OK", content: json(listSchema(component)) } }, parameters: listing };

  const paths: Paths = {
    [collection]: pick({
      get: verbs.has("list") && operation("list", list),
      post: verbs.has("create") && operation("post", { ...whole, parameters: writing }),
      delete: verbs.has("deletecollection") && operation("deletecollection", { parameters: [...listing, ...deleting] }),
      parameters: placeParameters(kind, false),
    }),
  };
  if (!verbs.has("get")) return paths;
  if (kind.namespaced) paths[`${root}/${kind.plural}`] = { get: operation("list", list) };
  const object = `${collection}/{name}`;
  paths[object] = pick({
    get: operation("get"),
    put: operation("put", { ...whole, parameters: writing }),
    patch,
    delete: operation("delete", { parameters: deleting }),
    parameters: placeParameters(kind, true),
  });
  for (const { name, verbs: allowed, body } of subresourcesOf(kind)) {
    // Bodies of other kinds are described by their own documents.
    if (body !== undefined) continue;
    paths[`${object}/${name}`] = pick({
      get: allowed.includes("get") && operation("get"),
      put: allowed.includes("update") && operation("put", { ...whole, parameters: writing }),
      patch: allowed.includes("patch") && patch,
      parameters: placeParameters(kind, true),
    });
  }
  return paths;
}

function pick(operations: Record<string, unknown>): Record<string, Schema> {
  return Object.fromEntries(Object.entries(operations).filter(([, value]) => value !== false)) as Record<
    string,
    Schema
  >;
}

function patchContent(kind: Kind): Schema {
  const types = ["application/json-patch+json", "application/merge-patch+json"];
  if (!kind.custom) types.push("application/strategic-merge-patch+json");
  return Object.fromEntries(types.map((type) => [type, { schema: { type: "object" } }]));
}

function listSchema(component: string): Schema {
  return { type: "object", properties: { items: { type: "array", items: ref(component) } }, required: ["items"] };
}

function placeParameters(kind: Kind, named: boolean): unknown {
  const names = [...(kind.namespaced ? ["namespace"] : []), ...(named ? ["name"] : [])];
  return names.map((name) => ({ name, in: "path", required: true, schema: { type: "string" } }));
}
