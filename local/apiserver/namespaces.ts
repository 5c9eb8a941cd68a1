import type { Background } from "./background.ts";
import { type ChangeListener, type Context, timestamp } from "./context.ts";
import { permanentNamespaces } from "./kinds/namespace.ts";
import type { Draft, StoredObject } from "./types.ts";
import { deleteObject } from "./verbs/delete.ts";
import { commit } from "./verbs/update.ts";

/** Creates the namespaces that every cluster has, where storage does not hold them yet. */
export function bootstrapNamespaces(context: Context): void {
  for (const name of permanentNamespaces) {
    if (context.storage.get({ resource: "namespaces", namespace: "", name }) !== undefined) continue;
    context.put("namespaces", {
      apiVersion: "v1",
      kind: "Namespace",
      metadata: {
        name,
        uid: context.random.uuid(),
        creationTimestamp: timestamp(context.clock.now()),
        labels: { "kubernetes.io/metadata.name": name },
      },
      spec: { finalizers: ["kubernetes"] },
      status: { phase: "Active" },
    });
  }
}

/**
 * Empties a namespace that is being deleted, then lets it go, as the namespace controller does. Objects with
 * finalizers or grace keep it until they are gone.
 */
export function createNamespaceController(context: Context, background: Background): ChangeListener {
  const empty = (name: string): void => {
    const namespace = find(context, name);
    if (namespace?.metadata.deletionTimestamp === undefined) return;
    for (const kind of context.registry.resources()) {
      if (!kind.namespaced) continue;
      for (const object of [...context.storage.list(kind.resource, name)]) {
        if (object.metadata.deletionTimestamp === undefined) deleteObject(context, kind, object, {});
      }
    }
    release(context, name);
  };
  return ({ type, resource, object }) => {
    const { namespace, name, deletionTimestamp } = object.metadata;
    if (resource === "namespaces") {
      if (type !== "DELETED" && deletionTimestamp !== undefined) background.add(`empty ${name}`, () => empty(name));
    } else if (type === "DELETED" && namespace !== undefined && find(context, namespace)?.metadata.deletionTimestamp) {
      background.add(`empty ${namespace}`, () => empty(namespace));
    }
  };
}

const find = (context: Context, name: string): StoredObject | undefined =>
  context.storage.get({ resource: "namespaces", namespace: "", name });

/** Removes the finalizer of an empty namespace. */
function release(context: Context, name: string): void {
  const namespace = find(context, name);
  const kind = context.registry.byResource("namespaces");
  if (namespace === undefined || kind === undefined) return;
  const content = context.registry
    .resources()
    .some((entry) => entry.namespaced && context.storage.count(entry.resource, name) > 0);
  if (content || kind.holdsDeletion?.(namespace) !== true) return;
  const draft: Draft = { ...namespace, metadata: { ...namespace.metadata }, spec: {} };
  commit(context, { kind }, draft, namespace);
}
