import type { Clock, Random } from "#kube/ports.ts";
import type { AdmissionRule } from "./admission.ts";
import type { Registry } from "./registry.ts";
import type { Change, Storage, StorageKey } from "./storage.ts";
import type { Draft, StoredObject } from "./types.ts";
import type { WatchHub } from "./watch-hub.ts";

/** What every verb works with. */
export interface Context {
  readonly registry: Registry;
  /** For reading; writes go through {@link put} and {@link remove}, which tell everybody. */
  readonly storage: Storage;
  readonly hub: WatchHub;
  readonly clock: Clock;
  readonly random: Random;
  readonly admission: readonly AdmissionRule[];
  /** Events that one watch may leave unread before it is closed. */
  readonly watchBuffer: number;
  put(resource: string, draft: Draft): StoredObject;
  remove(key: StorageKey): StoredObject;
}

/** Sees every change right after it was stored, before the request that made it is answered. */
export type ChangeListener = (change: Change) => void;

/** Time of the API in whole seconds, e.g. `2026-01-01T00:00:00Z`. */
export function timestamp(milliseconds: number): string {
  return `${new Date(milliseconds).toISOString().slice(0, 19)}Z`;
}

/** Where an object is stored. */
export function keyOfObject(resource: string, object: StoredObject): StorageKey {
  return { resource, namespace: object.metadata.namespace ?? "", name: object.metadata.name };
}
