import { stringify } from "yaml";
import type { WatchEvent } from "#api/meta.ts";
import type { Kind, StoredObject } from "#local/apiserver/index.ts";
import { isObject } from "#local/apiserver/json.ts";
import { partialOf, readIncludeObject, tableOf } from "#local/table/table.ts";
import type { Wanted } from "./accept.ts";

/** Turns answers of the API server into the form that a client wants. */
export interface Representation {
  readonly contentType: string;
  /** The text of an answer's body. */
  text(body: unknown): string;
  /** One event of a watch, as a line. */
  line(event: WatchEvent<StoredObject>): string;
}

/**
 * The representation that a request asks for.
 *
 * @param kind of the objects; undefined where the answer holds none
 * @param now milliseconds since the epoch, asked for each table
 * @throws StatusError 400 for an unknown `includeObject`
 */
export function representation(
  wanted: Wanted,
  kind: Kind | undefined,
  query: Readonly<Record<string, string>>,
  now: () => number,
): Representation {
  const { as, format } = wanted;
  const include = readIncludeObject(query.includeObject);
  let headers = true;

  const table = (objects: readonly StoredObject[], metadata: Record<string, unknown>, of: Kind) =>
    tableOf(of, objects, metadata, { apiVersion: as?.apiVersion ?? "", include, headers, now: now() });

  const transformed = (body: unknown): unknown => {
    if (as === undefined || kind === undefined || !isObject(body)) return body;
    if (body.kind === kind.listKind && Array.isArray(body.items)) {
      const metadata = isObject(body.metadata) ? body.metadata : {};
      const items = body.items as StoredObject[];
      if (as.kind === "Table") return table(items, metadata, kind);
      const partial = items.map((item) => partialOf(item, as.apiVersion));
      return { kind: "PartialObjectMetadataList", apiVersion: as.apiVersion, metadata, items: partial };
    }
    if (body.kind !== kind.kind || body.apiVersion !== kind.apiVersion) return body;
    const object = body as unknown as StoredObject;
    if (as.kind === "PartialObjectMetadata") return partialOf(object, as.apiVersion);
    return table([object], { resourceVersion: object.metadata.resourceVersion }, kind);
  };

  return {
    contentType: format === "yaml" ? "application/yaml" : "application/json",
    text: (body) => (format === "yaml" ? stringify(transformed(body)) : JSON.stringify(transformed(body))),
    line(event) {
      const object = transformed(event.object);
      // Columns are told once.
      if (event.type !== "ERROR") headers = false;
      return `${JSON.stringify({ type: event.type, object })}\n`;
    },
  };
}
