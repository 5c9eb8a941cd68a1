import type { Kind } from "./types.ts";

/** The kinds that are served, by the names that requests and owner references use. */
export interface Registry {
  /** Every served version of every resource, in the order they were added. */
  all(): readonly Kind[];
  byPlural(group: string, version: string, plural: string): Kind | undefined;
  byKind(apiVersion: string, kind: string): Kind | undefined;
  /** One kind for each stored resource: its first version. */
  resources(): readonly Kind[];
  /** The first version of a stored resource. */
  byResource(resource: string): Kind | undefined;
}

/** @throws Error when two kinds claim the same URL. */
export function createRegistry(kinds: readonly Kind[]): Registry {
  const plurals = new Map<string, Kind>();
  const names = new Map<string, Kind>();
  const resources = new Map<string, Kind>();
  for (const kind of kinds) {
    const url = `${kind.apiVersion}/${kind.plural}`;
    if (plurals.has(url)) throw new Error(`two kinds are served at ${url}`);
    plurals.set(url, kind);
    names.set(`${kind.apiVersion}/${kind.kind}`, kind);
    if (!resources.has(kind.resource)) resources.set(kind.resource, kind);
  }
  const stored = [...resources.values()];
  return {
    all: () => kinds,
    byPlural: (group, version, plural) => plurals.get(`${group === "" ? "" : `${group}/`}${version}/${plural}`),
    byKind: (apiVersion, kind) => names.get(`${apiVersion}/${kind}`),
    resources: () => stored,
    byResource: (resource) => resources.get(resource),
  };
}
