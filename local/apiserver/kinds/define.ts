import type { FieldError } from "../field-errors.ts";
import { getPath } from "../json.ts";
import type { Draft, Kind, NameRule, ScalePaths, StoredObject, Surroundings } from "../types.ts";

/** What has to be said about a built-in kind; the rest follows. */
export interface BuiltinKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
  /** Default true. */
  readonly namespaced?: boolean;
  /** Default a DNS subdomain. */
  readonly nameRule?: NameRule;
  readonly subresources?: readonly string[];
  readonly scale?: ScalePaths;
  /** Default false: most built-in kinds do not count generations. */
  readonly generation?: boolean;
  /** Default true: most built-in kinds take a PUT without resourceVersion. */
  readonly unconditionalUpdate?: boolean;
  /** Dotted paths that field selectors may name. */
  readonly selectable?: readonly string[];
  readonly returnsDeleted?: boolean;
  /** Versions of one resource name the same storage here; default `plural.group`. */
  readonly resource?: string;
  admit?(draft: Draft): Draft;
  encode?(object: StoredObject): StoredObject;
  prepareCreate?(draft: Draft, surroundings: Surroundings): void;
  /** Called for the object itself after status was restored. */
  prepareUpdate?(draft: Draft, old: StoredObject): void;
  validate?(draft: Draft, old: StoredObject | undefined, subresource: string | undefined): FieldError[];
  gracePeriod?: Kind["gracePeriod"];
  prepareDelete?: Kind["prepareDelete"];
  holdsDeletion?: Kind["holdsDeletion"];
  forbidsDeletion?: Kind["forbidsDeletion"];
}

/** Completes the description of a built-in kind with what most of them have in common. */
export function defineKind(spec: BuiltinKind): Kind {
  const { group, version, kind, plural } = spec;
  const subresources = new Set(spec.subresources);
  const hooks = {
    ...(spec.encode === undefined ? {} : { encode: spec.encode }),
    ...(spec.prepareCreate === undefined ? {} : { prepareCreate: spec.prepareCreate }),
    ...(spec.gracePeriod === undefined ? {} : { gracePeriod: spec.gracePeriod }),
    ...(spec.prepareDelete === undefined ? {} : { prepareDelete: spec.prepareDelete }),
    ...(spec.holdsDeletion === undefined ? {} : { holdsDeletion: spec.holdsDeletion }),
    ...(spec.forbidsDeletion === undefined ? {} : { forbidsDeletion: spec.forbidsDeletion }),
    ...(spec.scale === undefined ? {} : { scale: spec.scale }),
  };
  return {
    group,
    version,
    apiVersion: group === "" ? version : `${group}/${version}`,
    kind,
    listKind: `${kind}List`,
    plural,
    singular: kind.toLowerCase(),
    shortNames: spec.shortNames ?? [],
    categories: spec.categories ?? [],
    namespaced: spec.namespaced ?? true,
    resource: spec.resource ?? (group === "" ? plural : `${plural}.${group}`),
    custom: false,
    subresources,
    generation: spec.generation ?? false,
    unconditionalUpdate: spec.unconditionalUpdate ?? true,
    selectable: new Map((spec.selectable ?? []).map((path) => [path, fieldReader(path)])),
    unknownField: (label) =>
      spec.selectable === undefined
        ? `${JSON.stringify(label)} is not a known field selector: only "metadata.name", "metadata.namespace"`
        : `field label not supported: ${label}`,
    nameRule: spec.nameRule ?? "subdomain",
    returnsDeleted: spec.returnsDeleted ?? false,
    admit: spec.admit ?? ((draft) => draft),
    validate: (draft, old, subresource) => spec.validate?.(draft, old, subresource) ?? [],
    prepareUpdate(draft, old, subresource) {
      if (subresource === "status") keepAllButStatus(draft, old);
      else if (subresource === undefined) {
        if (subresources.has("status")) keep(draft, old, "status");
        spec.prepareUpdate?.(draft, old);
      }
    },
    ...hooks,
  };
}

/** A field as selectors compare it: absent is empty, numbers and booleans are their text. */
export function fieldReader(path: string): (object: StoredObject) => string {
  const parts = path.split(".");
  return (object) => {
    const value = getPath(object, parts);
    return typeof value === "string" ? value : value === undefined || value === null ? "" : String(value);
  };
}

/** Puts a member of a draft back to what is stored, absence included. */
export function keep(draft: Draft, old: StoredObject, member: string): void {
  if (old[member] === undefined) delete draft[member];
  else draft[member] = old[member];
}

/** A write to /status of a built-in kind changes status, labels, annotations and finalizers, and nothing else. */
function keepAllButStatus(draft: Draft, old: StoredObject): void {
  for (const member of new Set([...Object.keys(draft), ...Object.keys(old)])) {
    if (member !== "metadata" && member !== "status") keep(draft, old, member);
  }
  if (old.metadata.ownerReferences === undefined) delete draft.metadata.ownerReferences;
  else draft.metadata.ownerReferences = [...old.metadata.ownerReferences];
}
