import type { KubeList, KubeObject, WatchEvent } from "#api/meta.ts";
import type { PatchType, Transport } from "#kube/transport.ts";

/** What must be known of a kind to build its URLs. */
export interface ResourceType<T extends KubeObject> {
  /** `""` for the core group. */
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  /** Lower-case plural as in URLs, e.g. `runs`. */
  readonly plural: string;
  readonly namespaced: boolean;
  /** Carries the object type; never set. */
  readonly type?: T;
}

export interface ListOptions {
  readonly namespace?: string | undefined;
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
  readonly limit?: number | undefined;
  readonly continue?: string | undefined;
  readonly resourceVersion?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Told the size of the answer in bytes; transports without a wire do not call it. */
  readonly onBytes?: ((bytes: number) => void) | undefined;
}

export interface WatchOptions extends Omit<ListOptions, "limit" | "continue" | "onBytes"> {
  readonly timeoutSeconds?: number | undefined;
}

/** The object addressed by a call. */
export interface ObjectRef {
  readonly name: string;
  readonly namespace?: string | undefined;
}

export interface Preconditions {
  readonly uid?: string | undefined;
  readonly resourceVersion?: string | undefined;
}

export interface CreateOptions {
  /** What unknown fields do; the server's default is to warn. */
  readonly fieldValidation?: "Strict" | "Warn" | "Ignore" | undefined;
}

/**
 * Typed verbs for one kind. Every write that decides something carries the resourceVersion it was decided on:
 * `update*` takes it from `object.metadata`, `patch*` from the body's `metadata`.
 */
export interface ResourceClient<T extends KubeObject> {
  readonly resource: ResourceType<T>;
  get(ref: ObjectRef, signal?: AbortSignal): Promise<T>;
  list(options?: ListOptions): Promise<KubeList<T>>;
  watch(options?: WatchOptions): Promise<AsyncIterable<WatchEvent<T>>>;
  create(object: T, options?: CreateOptions): Promise<T>;
  /** PUT of the object; `subresource` e.g. `status`. */
  update(object: T, subresource?: string): Promise<T>;
  /** Merge patch unless `type` says otherwise. */
  patch(ref: ObjectRef, patch: unknown, options?: { subresource?: string; type?: PatchType }): Promise<T>;
  /** Returns when the API server accepted the deletion; a missing object throws 404. */
  delete(
    ref: ObjectRef,
    options?: {
      preconditions?: Preconditions;
      gracePeriodSeconds?: number;
      propagationPolicy?: "Background" | "Foreground" | "Orphan";
    },
  ): Promise<void>;
}

/** All kinds over one transport. */
export interface Client {
  readonly transport: Transport;
  of<T extends KubeObject>(resource: ResourceType<T>): ResourceClient<T>;
}

/** `/api/v1/...` or `/apis/GROUP/VERSION/...` of a collection or, with a name, of an object. */
export function pathOf(
  resource: Pick<ResourceType<KubeObject>, "group" | "version" | "plural" | "namespaced">,
  ref: { namespace?: string | undefined; name?: string | undefined; subresource?: string | undefined } = {},
): string {
  const root = resource.group === "" ? `/api/${resource.version}` : `/apis/${resource.group}/${resource.version}`;
  const scope =
    resource.namespaced && ref.namespace !== undefined ? `/namespaces/${encodeURIComponent(ref.namespace)}` : "";
  const name = ref.name === undefined ? "" : `/${encodeURIComponent(ref.name)}`;
  const sub = ref.subresource === undefined ? "" : `/${ref.subresource}`;
  return `${root}${scope}/${resource.plural}${name}${sub}`;
}
