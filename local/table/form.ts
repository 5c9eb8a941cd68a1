import type { StoredObject } from "#local/apiserver/index.ts";

/** A column of a table (meta.k8s.io/v1 TableColumnDefinition); priority above 0 is for `-o wide`. */
export interface TableColumn {
  readonly name: string;
  readonly type: "string" | "integer" | "number" | "boolean" | "date";
  /** `name` marks the column that holds the object's name. */
  readonly format: string;
  readonly description: string;
  readonly priority: number;
}

/** A remark about a row (TableRowCondition). */
export interface RowCondition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
}

/** How objects of a kind become rows. */
export interface TableForm {
  readonly columns: readonly TableColumn[];
  /**
   * One value for each column.
   *
   * @param now milliseconds since the epoch, for ages
   */
  cells(object: StoredObject, now: number): unknown[];
  conditions?(object: StoredObject): readonly RowCondition[];
}

/** A column of text; with `wide` it is shown by `-o wide` only. */
export function column(
  name: string,
  description: string,
  more: { readonly type?: TableColumn["type"]; readonly format?: string; readonly wide?: true } = {},
): TableColumn {
  return {
    name,
    type: more.type ?? "string",
    format: more.format ?? "",
    description,
    priority: more.wide === true ? 1 : 0,
  };
}

/** The first column of nearly every table. */
export const nameColumn = column("Name", "Name of the object, unique within its namespace.", { format: "name" });

/** The last column that is always shown. */
export const ageColumn = column("Age", "Time since the object was created.");
