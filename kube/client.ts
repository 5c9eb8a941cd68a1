import type { KubeList, KubeObject, WatchEvent } from "#api/meta.ts";
import { apiVersionOf } from "#kube/builtin.ts";
import type { Client, ListOptions, ResourceClient, ResourceType } from "#kube/resource.ts";
import { pathOf } from "#kube/resource.ts";
import { isGone, type Transport } from "#kube/transport.ts";

/** Typed access to all kinds over a transport. Cheap: hold one, or make one for each transport you wrap. */
export function createClient(transport: Transport): Client {
  return { transport, of: (resource) => resourceClient(transport, resource) };
}

function resourceClient<T extends KubeObject>(transport: Transport, resource: ResourceType<T>): ResourceClient<T> {
  const typeMeta = { apiVersion: apiVersionOf(resource), kind: resource.kind };

  const selection = (options: Omit<ListOptions, "limit" | "continue">) => ({
    labelSelector: options.labelSelector,
    fieldSelector: options.fieldSelector,
    resourceVersion: options.resourceVersion,
  });

  const nameOf = (object: T): string => {
    if (!object.metadata.name) throw new Error(`${resource.kind} has no metadata.name: only create can do without`);
    return object.metadata.name;
  };

  return {
    resource,

    get: (ref, signal) => transport.request<T>({ method: "GET", path: pathOf(resource, ref), ...given({ signal }) }),

    async list(options = {}) {
      const list = await transport.request<KubeList<T>>({
        method: "GET",
        path: pathOf(resource, { namespace: options.namespace }),
        query: {
          ...selection(options),
          limit: options.limit === undefined ? undefined : String(options.limit),
          continue: options.continue,
        },
        ...given({ signal: options.signal, onBytes: options.onBytes }),
      });
      // The API server leaves these two out of the items of built-in kinds; readers should not have to know.
      for (const item of list.items) {
        item.apiVersion ??= typeMeta.apiVersion;
        item.kind ??= typeMeta.kind;
      }
      return list;
    },

    watch: (options = {}) =>
      transport.stream<WatchEvent<T>>({
        method: "GET",
        path: pathOf(resource, { namespace: options.namespace }),
        query: {
          ...selection(options),
          watch: "true",
          allowWatchBookmarks: "true",
          timeoutSeconds: options.timeoutSeconds === undefined ? undefined : String(options.timeoutSeconds),
        },
        ...given({ signal: options.signal }),
      }),

    create: (object, options = {}) =>
      transport.request<T>({
        method: "POST",
        path: pathOf(resource, { namespace: object.metadata.namespace }),
        query: { fieldValidation: options.fieldValidation },
        body: { ...typeMeta, ...object },
      }),

    update: (object, subresource) =>
      transport.request<T>({
        method: "PUT",
        path: pathOf(resource, { namespace: object.metadata.namespace, name: nameOf(object), subresource }),
        body: { ...typeMeta, ...object },
      }),

    patch: (ref, patch, options = {}) =>
      transport.request<T>({
        method: "PATCH",
        path: pathOf(resource, { ...ref, subresource: options.subresource }),
        body: patch,
        contentType: options.type ?? "application/merge-patch+json",
      }),

    async delete(ref, options = {}) {
      await transport.request({
        method: "DELETE",
        path: pathOf(resource, ref),
        body: { apiVersion: "v1", kind: "DeleteOptions", ...options },
      });
    },
  };
}

/** The members that have a value: what `exactOptionalPropertyTypes` wants of optional arguments passed on. */
function given<T extends object>(members: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>;
  };
}

/**
 * All objects of a selection, read page by page (500 each) in one consistent snapshot. When the snapshot expires
 * between two pages the list starts again; the third time the error is thrown.
 */
export async function listAll<T extends KubeObject>(
  client: ResourceClient<T>,
  options: Omit<ListOptions, "continue"> = {},
): Promise<KubeList<T>> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await readPages(client, { limit: 500, ...options });
    } catch (error) {
      if (!isGone(error) || attempt === 3) throw error;
    }
  }
}

async function readPages<T extends KubeObject>(client: ResourceClient<T>, options: ListOptions): Promise<KubeList<T>> {
  const items: T[] = [];
  for (let token: string | undefined; ; ) {
    const page = await client.list({ ...options, continue: token });
    for (const item of page.items) items.push(item);
    token = page.metadata.continue || undefined;
    if (token === undefined) return { ...page, items };
  }
}
