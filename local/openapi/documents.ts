import { createHash } from "node:crypto";
import type { Kind } from "#local/apiserver/index.ts";
import { groupVersion } from "#local/discovery/resources.ts";
import { addKind, type Components } from "./components.ts";
import type { Models } from "./models.ts";
import { type Paths, pathsOf } from "./operations.ts";

/** A document as text, with what tells it apart from an older one. */
export interface Document {
  readonly text: string;
  readonly hash: string;
}

/** The OpenAPI v3 documents of a server: one for each group and version, made when they are first asked for. */
export interface OpenApi {
  /** The list of documents (`/openapi/v3`). */
  index(): object;
  /** A document by its key, e.g. `api/v1` or `apis/kruntimes.io/v1alpha1`. */
  document(key: string): Document | undefined;
}

/** Documents for the kinds that a server has. */
export function createOpenApi(kinds: readonly Kind[], models: Models): OpenApi {
  const members = new Map<string, Kind[]>();
  for (const kind of kinds) {
    const key = `${kind.group === "" ? "api" : "apis"}/${groupVersion(kind.group, kind.version)}`;
    members.set(key, [...(members.get(key) ?? []), kind]);
  }
  const made = new Map<string, Document>();
  const document = (key: string): Document | undefined => {
    const found = made.get(key);
    const listed = members.get(key);
    if (found !== undefined || listed === undefined) return found;
    const text = JSON.stringify(documentOf(listed, models));
    const fresh = { text, hash: createHash("sha256").update(text).digest("hex").slice(0, 32).toUpperCase() };
    made.set(key, fresh);
    return fresh;
  };
  return {
    document,
    index: () => ({
      paths: Object.fromEntries(
        [...members.keys()].map((key) => [
          key,
          { serverRelativeURL: `/openapi/v3/${key}?hash=${document(key)?.hash ?? ""}` },
        ]),
      ),
    }),
  };
}

function documentOf(kinds: readonly Kind[], models: Models): object {
  const components: Components = new Map();
  const paths: Paths = {};
  for (const kind of kinds) Object.assign(paths, pathsOf(kind, addKind(components, kind, models)));
  return {
    openapi: "3.0.0",
    info: { title: "kruntimes local cluster", version: "v1" },
    paths,
    components: { schemas: Object.fromEntries(components) },
  };
}
