import { badRequest } from "#local/apiserver/errors.ts";
import type { Kind, StoredObject } from "#local/apiserver/index.ts";
import { builtinForms } from "./builtin-forms.ts";
import { customForm } from "./custom-form.ts";
import type { RowCondition, TableColumn, TableForm } from "./form.ts";

/** How much of each object a row carries (the `includeObject` parameter). */
export type IncludeObject = "None" | "Metadata" | "Object";

/** meta.k8s.io Table. */
export interface Table {
  readonly kind: "Table";
  readonly apiVersion: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly columnDefinitions: readonly TableColumn[] | null;
  readonly rows: readonly TableRow[];
}

/** One object as a row. */
export interface TableRow {
  readonly cells: readonly unknown[];
  readonly conditions?: readonly RowCondition[];
  readonly object?: unknown;
}

/** @throws StatusError 400 for any other word. */
export function readIncludeObject(value: string | undefined): IncludeObject {
  switch (value) {
    case undefined:
    case "":
      return "Metadata";
    case "None":
    case "Metadata":
    case "Object":
      return value;
    default:
      throw badRequest(
        `includeObject: Invalid value: ${JSON.stringify(value)}: must be 'Metadata', 'Object', 'None', or empty`,
      );
  }
}

const forms = new WeakMap<Kind, TableForm>();

/** The form of a kind's table. */
export function formOf(kind: Kind): TableForm {
  let form = forms.get(kind);
  if (form === undefined) {
    form = builtinForms.get(kind.resource) ?? customForm(kind.columns);
    forms.set(kind, form);
  }
  return form;
}

/** What a table is made with. */
export interface TableOptions {
  /** `meta.k8s.io/v1` or `/v1beta1`, which has the same form. */
  readonly apiVersion: string;
  readonly include: IncludeObject;
  /** False for all but the first table of a watch. */
  readonly headers: boolean;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/**
 * Objects of a kind as a table.
 *
 * @param metadata of the list, or the version of a single object
 */
export function tableOf(
  kind: Kind,
  objects: readonly StoredObject[],
  metadata: Table["metadata"],
  { apiVersion, include, headers, now }: TableOptions,
): Table {
  const form = formOf(kind);
  return {
    kind: "Table",
    apiVersion,
    metadata,
    columnDefinitions: headers ? form.columns : null,
    rows: objects.map((object) => {
      const conditions = form.conditions?.(object) ?? [];
      return {
        cells: form.cells(object, now),
        ...(conditions.length === 0 ? {} : { conditions }),
        object: rowObject(kind, object, include, apiVersion),
      };
    }),
  };
}

function rowObject(kind: Kind, object: StoredObject, include: IncludeObject, apiVersion: string): unknown {
  switch (include) {
    case "None":
      return null;
    case "Metadata":
      return partialOf(object, apiVersion);
    case "Object":
      // Items of lists of built-in kinds come without their type.
      return Object.assign({ kind: kind.kind, apiVersion: kind.apiVersion }, object);
    default:
      return include satisfies never;
  }
}

/** meta.k8s.io PartialObjectMetadata: everything that is known without knowing the kind. */
export function partialOf(object: Pick<StoredObject, "metadata">, apiVersion: string): object {
  return { kind: "PartialObjectMetadata", apiVersion, metadata: object.metadata };
}
