import type { OwnerReference } from "#api/meta.ts";
import type { Background } from "./background.ts";
import { type ChangeListener, type Context, keyOfObject } from "./context.ts";
import type { Change, StorageKey } from "./storage.ts";
import type { Draft, Kind, StoredObject } from "./types.ts";
import { type DeleteOptions, deleteObject, foregroundFinalizer, orphanFinalizer } from "./verbs/delete.ts";
import { commit } from "./verbs/update.ts";

/**
 * Deletes what lost its owners, as the garbage collector of kube-controller-manager does:
 *
 * - an object all of whose owners are absent (or replaced by a namesake with another uid) is deleted;
 * - an owner deleted with `Foreground` stays until its dependents with blockOwnerDeletion are gone;
 * - an owner deleted with `Orphan` stays until its dependents have lost their reference to it.
 *
 * Works from changes, through an index of dependents by the uid of their owner; nothing is scanned.
 */
export function createGarbageCollector(context: Context, background: Background): ChangeListener {
  const dependents = new Map<string, Map<string, StorageKey>>();

  const index = (change: Change): void => {
    const key = keyOfObject(change.resource, change.object);
    const id = idOf(key);
    for (const { uid } of change.previous?.metadata.ownerReferences ?? []) {
      const entries = dependents.get(uid);
      entries?.delete(id);
      if (entries?.size === 0) dependents.delete(uid);
    }
    if (change.type === "DELETED") return;
    for (const { uid } of change.object.metadata.ownerReferences ?? []) {
      const entries = dependents.get(uid) ?? new Map<string, StorageKey>();
      entries.set(id, key);
      dependents.set(uid, entries);
    }
  };

  const dependentsOf: DependentsOf = (uid) =>
    [...(dependents.get(uid)?.values() ?? [])].flatMap((key) => {
      const object = context.storage.get(key);
      const kind = context.registry.byResource(key.resource);
      return object === undefined || kind === undefined ? [] : [{ kind, object }];
    });

  const examineLater = (key: StorageKey): void => {
    background.add(`collect ${idOf(key)}`, () => examine(context, key, dependentsOf, examineLater));
  };

  return (change) => {
    index(change);
    const { object, previous } = change;
    if (change.type === "DELETED") {
      for (const key of dependents.get(object.metadata.uid)?.values() ?? []) examineLater(key);
      for (const owner of previous?.metadata.ownerReferences ?? []) examineOwner(owner, object.metadata.namespace);
      return;
    }
    const owners = object.metadata.ownerReferences;
    if (owners !== previous?.metadata.ownerReferences) {
      if (owners !== undefined) examineLater(keyOfObject(change.resource, object));
      for (const owner of previous?.metadata.ownerReferences ?? []) examineOwner(owner, object.metadata.namespace);
    }
    if (isLeaving(object, foregroundFinalizer, orphanFinalizer)) {
      examineLater(keyOfObject(change.resource, object));
    }
  };

  /** A dependent went or let go: its owner may have been waiting for that. */
  function examineOwner(owner: OwnerReference, namespace: string | undefined): void {
    const key = keyOfOwner(context, owner, namespace);
    if (key === undefined) return;
    const holder = context.storage.get(key);
    if (holder !== undefined && isLeaving(holder, foregroundFinalizer, orphanFinalizer)) examineLater(key);
  }
}

interface Dependent {
  readonly kind: Kind;
  readonly object: StoredObject;
}

type DependentsOf = (uid: string) => Dependent[];

const idOf = ({ resource, namespace, name }: StorageKey): string => `${resource} ${namespace}/${name}`;

function isLeaving({ metadata }: StoredObject, ...finalizers: string[]): boolean {
  return metadata.deletionTimestamp !== undefined && finalizers.some((name) => metadata.finalizers?.includes(name));
}

/** Where the owner would be; undefined when its kind is not served, and then the reference counts as good. */
function keyOfOwner(context: Context, owner: OwnerReference, namespace: string | undefined): StorageKey | undefined {
  const kind = context.registry.byKind(owner.apiVersion, owner.kind);
  if (kind === undefined) return undefined;
  return { resource: kind.resource, namespace: kind.namespaced ? (namespace ?? "") : "", name: owner.name };
}

type OwnerState = "present" | "absent" | "waiting";

/** `waiting`: the owner is being deleted in the foreground and waits for this dependent. */
function stateOf(context: Context, owner: OwnerReference, namespace: string | undefined): OwnerState {
  const key = keyOfOwner(context, owner, namespace);
  if (key === undefined) return "present";
  const holder = context.storage.get(key);
  if (holder === undefined || holder.metadata.uid !== owner.uid) return "absent";
  return isLeaving(holder, foregroundFinalizer) ? "waiting" : "present";
}

function examine(
  context: Context,
  key: StorageKey,
  dependentsOf: DependentsOf,
  later: (key: StorageKey) => void,
): void {
  const object = context.storage.get(key);
  const kind = context.registry.byResource(key.resource);
  if (object === undefined || kind === undefined) return;
  if (object.metadata.deletionTimestamp !== undefined) {
    if (object.metadata.finalizers?.includes(orphanFinalizer)) orphanDependents(context, kind, object, dependentsOf);
    else if (object.metadata.finalizers?.includes(foregroundFinalizer)) {
      finishForeground(context, kind, object, dependentsOf, later);
    }
    return;
  }
  const { ownerReferences = [], namespace } = object.metadata;
  if (ownerReferences.length === 0) return;
  const states = ownerReferences.map((owner) => stateOf(context, owner, namespace));
  if (states.includes("present")) {
    const kept = ownerReferences.filter((_, position) => states[position] === "present");
    if (kept.length < ownerReferences.length) rewrite(context, kind, object, { ownerReferences: kept });
    return;
  }
  deleteObject(context, kind, ...policyFor(context, kind, object, states, dependentsOf));
}

/** The object, with what has to change first, and how it is to be deleted. */
function policyFor(
  context: Context,
  kind: Kind,
  object: StoredObject,
  states: readonly OwnerState[],
  dependentsOf: DependentsOf,
): [StoredObject, DeleteOptions] {
  const dependents = dependentsOf(object.metadata.uid);
  // With a waiting owner, a dependent that has dependents itself is deleted in the foreground too.
  if (!states.includes("waiting") || dependents.length === 0) return [object, {}];
  if (!dependents.some((dependent) => isLeaving(dependent.object, foregroundFinalizer))) {
    return [object, { propagationPolicy: "Foreground" }];
  }
  // A dependent waits for its own dependents already, so this may be a circle, which must not wait for itself.
  const ownerReferences = (object.metadata.ownerReferences ?? []).map((owner) => ({
    ...owner,
    blockOwnerDeletion: false,
  }));
  return [rewrite(context, kind, object, { ownerReferences }), { propagationPolicy: "Foreground" }];
}

function orphanDependents(context: Context, kind: Kind, owner: StoredObject, dependentsOf: DependentsOf): void {
  for (const dependent of dependentsOf(owner.metadata.uid)) {
    const kept = (dependent.object.metadata.ownerReferences ?? []).filter(({ uid }) => uid !== owner.metadata.uid);
    rewrite(context, dependent.kind, dependent.object, { ownerReferences: kept });
  }
  dropFinalizer(context, kind, owner, orphanFinalizer);
}

function finishForeground(
  context: Context,
  kind: Kind,
  owner: StoredObject,
  dependentsOf: DependentsOf,
  later: (key: StorageKey) => void,
): void {
  const dependents = dependentsOf(owner.metadata.uid);
  for (const dependent of dependents) {
    // Those that leave already report by their own changes; asking them again could go in circles.
    if (dependent.object.metadata.deletionTimestamp === undefined) {
      later(keyOfObject(dependent.kind.resource, dependent.object));
    }
  }
  if (dependents.some(({ object }) => blocks(object, owner))) return;
  dropFinalizer(context, kind, owner, foregroundFinalizer);
}

function blocks(dependent: StoredObject, owner: StoredObject): boolean {
  return (
    dependent.metadata.ownerReferences?.some(
      ({ uid, blockOwnerDeletion }) => uid === owner.metadata.uid && blockOwnerDeletion === true,
    ) ?? false
  );
}

function dropFinalizer(context: Context, kind: Kind, object: StoredObject, finalizer: string): void {
  rewrite(context, kind, object, {
    finalizers: (object.metadata.finalizers ?? []).filter((name) => name !== finalizer),
  });
}

/** Stores an object with other references or finalizers; removes it when nothing holds it any more. */
function rewrite(
  context: Context,
  kind: Kind,
  object: StoredObject,
  change: { readonly ownerReferences?: OwnerReference[]; readonly finalizers?: string[] },
): StoredObject {
  const draft: Draft = { ...object, metadata: { ...object.metadata, ...change } };
  if (draft.metadata.ownerReferences?.length === 0) delete draft.metadata.ownerReferences;
  if (draft.metadata.finalizers?.length === 0) delete draft.metadata.finalizers;
  return commit(context, { kind }, draft, object);
}
