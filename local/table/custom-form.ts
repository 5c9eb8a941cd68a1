import type { PrinterColumn } from "#local/apiserver/crd/types.ts";
import { nameColumn, type TableColumn, type TableForm } from "./form.ts";
import { age } from "./human-duration.ts";
import { compileJsonPath } from "./json-path.ts";

/** Shown where a definition names no columns. */
const defaultColumns: readonly PrinterColumn[] = [
  {
    name: "Age",
    type: "date",
    jsonPath: ".metadata.creationTimestamp",
    description: "Time since the object was created.",
  },
];

/**
 * The table of a custom kind from its additionalPrinterColumns.
 *
 * @throws Error when a JSONPath cannot be read
 */
export function customForm(columns: readonly PrinterColumn[] | undefined): TableForm {
  const chosen = columns === undefined || columns.length === 0 ? defaultColumns : columns;
  const readers = chosen.map(({ jsonPath, type }) => ({ find: compileJsonPath(jsonPath), type }));
  return {
    columns: [nameColumn, ...chosen.map(toColumn)],
    cells: (object, now) => [object.metadata.name, ...readers.map(({ find, type }) => cell(type, find(object), now))],
  };
}

function toColumn({ name, type, format, description, priority }: PrinterColumn): TableColumn {
  return { name, type, format: format ?? "", description: description ?? "", priority: priority ?? 0 };
}

/** A value under its column's type; null (shown as nothing) where it does not fit. */
function cell(type: PrinterColumn["type"], value: unknown, now: number): unknown {
  if (value === undefined || value === null) return null;
  switch (type) {
    case "date":
      return typeof value === "string" ? age(value, now) : null;
    case "integer":
      return typeof value === "number" ? Math.trunc(value) : null;
    case "number":
      return typeof value === "number" ? value : null;
    case "boolean":
      return typeof value === "boolean" ? value : null;
    case "string":
      return typeof value === "object" ? JSON.stringify(value) : String(value);
    default:
      return type satisfies never;
  }
}
