import type { ObjectMeta } from "#api/meta.ts";
import type { PrinterColumn, SchemaSource } from "./crd/types.ts";
import type { FieldError } from "./field-errors.ts";

/** Metadata of an object while a request is being worked on. */
export type DraftMeta = ObjectMeta;

/** An object that a request is about to store: a private copy, free to be changed at its top and in its metadata. */
export interface Draft {
  apiVersion: string;
  kind: string;
  metadata: DraftMeta;
  [field: string]: unknown;
}

/** An object as stored: deeply frozen, shared by reference with every reader. */
export interface StoredObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: Readonly<DraftMeta> & {
    readonly uid: string;
    readonly resourceVersion: string;
    readonly creationTimestamp: string;
  };
  readonly [field: string]: unknown;
}

/** An object that is prepared but may not be stored yet: without a resourceVersion at creation. */
export type ReadonlyDraft = Omit<StoredObject, "metadata"> & { readonly metadata: Readonly<DraftMeta> };

/** What unknown fields do: refuse the request, be reported, or vanish (the `fieldValidation` parameter). */
export type FieldValidation = "Strict" | "Warn" | "Ignore";

/** Where a scale subresource finds its numbers, as paths of member names. */
export interface ScalePaths {
  readonly specReplicas: readonly string[];
  readonly statusReplicas: readonly string[];
  readonly labelSelector?: readonly string[];
}

/** What the hooks of a kind may use of the world. */
export interface Surroundings {
  /** Milliseconds since the epoch. */
  now(): number;
}

/** One served version of a resource: its names, and where it differs from the common behaviour. */
export interface Kind {
  /** `""` for the core group. */
  readonly group: string;
  readonly version: string;
  /** `group/version`, or the version alone for the core group. */
  readonly apiVersion: string;
  readonly kind: string;
  readonly listKind: string;
  readonly plural: string;
  readonly singular: string;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly namespaced: boolean;
  /** `plural.group`: how errors call it, and the key of its storage. Versions of one resource share it. */
  readonly resource: string;
  /** Defined by a CustomResourceDefinition. */
  readonly custom: boolean;
  /** Schema of a custom kind as its definition has it, for those who publish it. */
  readonly schema?: SchemaSource;
  /** Columns of a custom kind's table. */
  readonly columns?: readonly PrinterColumn[];
  readonly subresources: ReadonlySet<string>;
  readonly scale?: ScalePaths;
  /** Whether `metadata.generation` counts changes of anything but metadata and status. */
  readonly generation: boolean;
  /** Whether a PUT without resourceVersion overwrites. */
  readonly unconditionalUpdate: boolean;
  /** Fields that a field selector may name, beside metadata.name and metadata.namespace. */
  readonly selectable: ReadonlyMap<string, (object: StoredObject) => string>;
  /** The answer to an unknown field label. */
  unknownField(label: string): string;
  /** Which rule names follow. */
  readonly nameRule: NameRule;
  /**
   * Turns a decoded body of this version into the stored form: prunes and defaults. Adds what `Strict` would refuse to
   * `unknown`.
   */
  admit(draft: Draft, unknown: string[]): Draft;
  /** Turns the stored form into this version; the identity where absent. */
  encode?(object: StoredObject): StoredObject;
  /** Sets what only the server decides at creation (status, defaults). */
  prepareCreate?(draft: Draft, surroundings: Surroundings): void;
  /** Sets what an update must not change; `subresource` is undefined for the object itself. */
  prepareUpdate?(draft: Draft, old: StoredObject, subresource: string | undefined): void;
  /** All that is wrong with a prepared object. */
  validate(draft: Draft, old: StoredObject | undefined, subresource: string | undefined): FieldError[];
  /** Sets what was left out of a validated object, as reading it back from storage would. */
  complete?(draft: Draft): void;
  /** Seconds between the request and the end of a graceful deletion; absent where deletion is immediate. */
  gracePeriod?(object: StoredObject, requested: number | undefined): number;
  /** Sets what a deletion that has to wait changes beside metadata. */
  prepareDelete?(draft: Draft): void;
  /** Whether something beside metadata.finalizers keeps a deleted object (a namespace with content). */
  holdsDeletion?(object: ReadonlyDraft | Draft): boolean;
  /** Why an object may not be deleted at all; undefined when it may. */
  forbidsDeletion?(object: StoredObject): string | undefined;
  /** Whether an accepted deletion is answered with the object rather than with a Status. */
  readonly returnsDeleted: boolean;
}

/** What names of a kind may look like. */
export type NameRule = "subdomain" | "label" | "label1035" | "path";

/** The object or collection that a request is about. */
export interface Target {
  readonly kind: Kind;
  /** `""` for cluster-scoped kinds and for collections over all namespaces. */
  readonly namespace: string;
  readonly name: string | undefined;
  readonly subresource: string | undefined;
}

/** Who sent a request, as admission sees it. */
export interface UserInfo {
  readonly username: string;
  readonly uid?: string;
  readonly groups?: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

/** The answer of a verb, before a transport gives it bytes. */
export interface Answer {
  /** HTTP status of the answer. */
  readonly code: number;
  readonly body: unknown;
  /** Texts for `Warning` headers, e.g. unknown fields under `fieldValidation=Warn`. */
  readonly warnings: readonly string[];
}

/** A request after routing. */
export interface VerbRequest {
  readonly target: Target;
  readonly query: Readonly<Record<string, string | undefined>>;
  readonly body: unknown;
  /** Media type without parameters. */
  readonly contentType: string;
  readonly user: UserInfo | undefined;
}
