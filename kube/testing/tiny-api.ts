import type { KubeObject } from "#api/meta.ts";
import { copyJson, deepFreeze, isObject, mergePatch } from "#kube/json.ts";
import type { ApiHandler } from "#kube/memory.ts";
import { type ApiRequest, failure, StatusError } from "#kube/transport.ts";

interface Recorded {
  readonly version: number;
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly object: KubeObject;
  readonly before: KubeObject | undefined;
}

interface Address {
  readonly collection: string;
  readonly plural: string;
  readonly namespace: string | undefined;
  readonly name: string | undefined;
}

/**
 * As much of an API server as the tests of this folder need: one store for all kinds, versions, uids, preconditions,
 * paging of a snapshot, watch with history, bookmarks on demand, 410 after compaction, finalizers. No schemas.
 */
export class TinyApi implements ApiHandler {
  readonly requests: ApiRequest[] = [];
  /** Called before each request; may throw, or delay it. */
  before: (request: ApiRequest) => void | Promise<void> = () => {};
  /** Called with each answer before it is sent; throwing here loses the answer of a write that took effect. */
  after: (request: ApiRequest) => void | Promise<void> = () => {};
  readonly #objects = new Map<string, KubeObject>();
  readonly #history: Recorded[] = [];
  readonly #listeners = new Set<() => void>();
  readonly #snapshots = new Map<string, { version: number; items: KubeObject[] }>();
  #version = 1000;
  #compacted = 0;
  #uids = 0;
  #tokens = 0;
  #bookmark = 0;

  get version(): string {
    return String(this.#version);
  }

  /** How many watches are open. */
  get watches(): number {
    return this.#listeners.size;
  }

  /** Forgets the history: a watch from an older version gets 410, as does the next page of a list. */
  compact(): void {
    this.#compacted = this.#version;
    this.#history.length = 0;
    this.#snapshots.clear();
  }

  /** Sends a bookmark with the current version to all watches. */
  bookmark(): void {
    this.#bookmark++;
    this.#wake();
  }

  /** Moves the version without an event, as changes of other kinds do. */
  skip(versions: number): void {
    this.#version += versions;
  }

  async handle(request: ApiRequest): Promise<unknown> {
    this.requests.push(request);
    await this.before(request);
    const answer = this.#answer(request, parsePath(request.path));
    await this.after(request);
    return answer;
  }

  async watch(request: ApiRequest): Promise<AsyncIterable<unknown>> {
    this.requests.push(request);
    await this.before(request);
    const from = Number(request.query?.resourceVersion ?? this.#version);
    if (from < this.#compacted) throw new StatusError(failure(410, "Expired", "too old resource version"));
    return this.#events(request, from);
  }

  async *#events(request: ApiRequest, from: number): AsyncGenerator<unknown> {
    const { collection, namespace } = parsePath(request.path);
    const selects = selector(request.query);
    let seen = from;
    let bookmarks = this.#bookmark;
    let wake = () => {};
    const listener = () => wake();
    this.#listeners.add(listener);
    request.signal?.addEventListener("abort", listener);
    try {
      while (!request.signal?.aborted) {
        const changed = new Promise<void>((resolve) => {
          wake = resolve;
        });
        if (seen < this.#compacted) {
          yield { type: "ERROR", object: failure(410, "Expired", "too old resource version") };
          return;
        }
        for (const event of this.#history.filter((recorded) => recorded.version > seen)) {
          seen = event.version;
          const { object, before } = event;
          if (!isIn(object, collection, namespace)) continue;
          const was = before !== undefined && selects(before);
          const is = event.type !== "DELETED" && selects(object);
          if (was || is) yield { type: is ? (was ? "MODIFIED" : "ADDED") : "DELETED", object: strip(object) };
          if (request.signal?.aborted) return;
        }
        if (bookmarks !== this.#bookmark) {
          bookmarks = this.#bookmark;
          seen = this.#version;
          yield { type: "BOOKMARK", object: { metadata: { resourceVersion: this.version } } };
        }
        await changed;
      }
    } finally {
      this.#listeners.delete(listener);
      request.signal?.removeEventListener("abort", listener);
    }
  }

  #answer(request: ApiRequest, address: Address): unknown {
    if (address.name === undefined) {
      if (request.method === "GET") return this.#list(request, address);
      return this.#create(request.body as KubeObject, address);
    }
    const key = `${address.collection}/${address.namespace ?? ""}/${address.name}`;
    const old = this.#objects.get(key);
    if (old === undefined)
      throw new StatusError(failure(404, "NotFound", `${address.plural} ${address.name} not found`));
    if (request.method === "GET") return strip(old);
    if (request.method === "DELETE") return this.#delete(key, old, request.body);
    const body = request.method === "PUT" ? request.body : mergePatch(strip(old), request.body);
    const { metadata } = body as KubeObject;
    const expected = metadata.resourceVersion;
    if (expected !== undefined && expected !== old.metadata.resourceVersion) {
      throw new StatusError(failure(409, "Conflict", "the object has been modified"));
    }
    return strip(this.#store(key, body as KubeObject, address, old));
  }

  #list(request: ApiRequest, { collection, namespace }: Address): unknown {
    const limit = Number(request.query?.limit ?? Number.POSITIVE_INFINITY);
    const [id = "", start = "0"] = (request.query?.continue ?? "").split(":");
    let snapshot = this.#snapshots.get(id);
    if (request.query?.continue !== undefined && snapshot === undefined) {
      throw new StatusError(failure(410, "Expired", "the provided continue parameter is too old"));
    }
    const selects = selector(request.query);
    snapshot ??= {
      version: this.#version,
      items: [...this.#objects.values()].filter((object) => isIn(object, collection, namespace) && selects(object)),
    };
    const end = Number(start) + limit;
    const metadata: Record<string, string> = { resourceVersion: String(snapshot.version) };
    if (end < snapshot.items.length) {
      const token = id || `t${++this.#tokens}`;
      this.#snapshots.set(token, snapshot);
      metadata.continue = `${token}:${end}`;
    }
    return { kind: "List", apiVersion: "v1", metadata, items: snapshot.items.slice(Number(start), end).map(strip) };
  }

  #create(body: KubeObject, address: Address): KubeObject {
    const name = body.metadata.name || `${body.metadata.generateName}${this.#uids}`;
    const key = `${address.collection}/${address.namespace ?? ""}/${name}`;
    if (this.#objects.has(key)) throw new StatusError(failure(409, "AlreadyExists", `${name} already exists`));
    return strip(this.#store(key, body, { ...address, name }, undefined));
  }

  #delete(key: string, old: KubeObject, options: unknown): unknown {
    const wanted = isObject(options) && isObject(options.preconditions) ? options.preconditions : {};
    for (const field of ["uid", "resourceVersion"] as const) {
      if (wanted[field] !== undefined && wanted[field] !== old.metadata[field]) {
        throw new StatusError(failure(409, "Conflict", `precondition failed: ${field}`));
      }
    }
    if ((old.metadata.finalizers ?? []).length > 0) {
      const metadata = { ...old.metadata, deletionTimestamp: "2026-01-01T00:00:00Z" };
      return strip(this.#record(key, "MODIFIED", { ...old, metadata }, old));
    }
    return strip(this.#record(key, "DELETED", old, old));
  }

  #store(key: string, body: KubeObject, address: Address, old: KubeObject | undefined): KubeObject {
    const metadata = {
      ...copyJson(body.metadata),
      name: address.name ?? body.metadata.name,
      uid: old?.metadata.uid ?? `uid-${++this.#uids}`,
      ...(address.namespace === undefined ? {} : { namespace: address.namespace }),
      ...(old?.metadata.deletionTimestamp ? { deletionTimestamp: old.metadata.deletionTimestamp } : {}),
      managedFields: [{ manager: "tiny" }],
    };
    const next = { ...copyJson(body), metadata, [COLLECTION]: address.collection };
    const gone = metadata.deletionTimestamp !== undefined && (metadata.finalizers ?? []).length === 0;
    return this.#record(key, gone ? "DELETED" : old === undefined ? "ADDED" : "MODIFIED", next, old);
  }

  #record(key: string, type: Recorded["type"], object: KubeObject, before: KubeObject | undefined): KubeObject {
    const version = ++this.#version;
    const stored = { ...object, metadata: { ...object.metadata, resourceVersion: String(version) } };
    if (type === "DELETED") this.#objects.delete(key);
    else this.#objects.set(key, stored);
    this.#history.push({ version, type, object: stored, before });
    this.#wake();
    return stored;
  }

  #wake(): void {
    for (const listener of [...this.#listeners]) listener();
  }
}

/** Where a stored object lives; a symbol, so that it never travels. */
const COLLECTION = Symbol("collection");

function isIn(object: KubeObject, collection: string, namespace: string | undefined): boolean {
  const { [COLLECTION]: home } = object as KubeObject & { [COLLECTION]?: string };
  return home === collection && (namespace === undefined || object.metadata.namespace === namespace);
}

const strip = (object: KubeObject): KubeObject => deepFreeze(copyJson(object));

/** `/api/v1/namespaces/NS/PLURAL/NAME/SUB`, with or without namespace, name and subresource. */
export function parsePath(path: string): Address {
  const parts = path.split("/").slice(1);
  const group = parts.splice(0, parts[0] === "api" ? 2 : 3).join("/");
  const namespace = parts[0] === "namespaces" && parts.length > 2 ? parts.splice(0, 2)[1] : undefined;
  const [plural = "", name] = parts;
  return { collection: `${group}/${plural}`, plural, namespace, name };
}

function selector(query: ApiRequest["query"]): (object: KubeObject) => boolean {
  const terms = (text: string | undefined) => (text ?? "").split(",").filter((term) => term !== "");
  const labels = terms(query?.labelSelector).map((term) => term.split("="));
  const fields = terms(query?.fieldSelector).map((term) => term.split("="));
  const holds = (actual: string | undefined, value: string | undefined) =>
    value === undefined ? actual !== undefined : actual === value;
  return (object) =>
    labels.every(([name = "", value]) => holds(object.metadata.labels?.[name], value)) &&
    fields.every(([path = "", value]) => {
      let at: unknown = object;
      for (const part of path.split(".")) at = isObject(at) ? at[part] : undefined;
      return String(at ?? "") === value;
    });
}
