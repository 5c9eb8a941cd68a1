import type { Kind } from "#local/apiserver/index.ts";
import { type Group, groupVersion } from "./groups.ts";
import { subresourcesOf, verbsOf } from "./verbs.ts";

/** Discovery with a document for each group and version (metav1). */

/** `GET /api`. */
export function apiVersions(): object {
  return { kind: "APIVersions", versions: ["v1"], serverAddressByClientCIDRs: [] };
}

/** `GET /apis`. */
export function apiGroupList(groups: readonly Group[]): object {
  return { kind: "APIGroupList", apiVersion: "v1", groups: groups.filter(({ name }) => name !== "").map(describe) };
}

/** `GET /apis/GROUP`. */
export function apiGroup(group: Group): object {
  return { kind: "APIGroup", apiVersion: "v1", ...describe(group) };
}

function describe({ name, versions }: Group): object {
  const listed = versions.map((version) => ({
    groupVersion: groupVersion(name, version.name),
    version: version.name,
  }));
  return { name, versions: listed, preferredVersion: listed[0] };
}

/** `GET /apis/GROUP/VERSION` and `GET /api/v1`. */
export function apiResourceList(group: string, version: string, kinds: readonly Kind[]): object {
  return {
    kind: "APIResourceList",
    apiVersion: "v1",
    groupVersion: groupVersion(group, version),
    resources: kinds.flatMap((kind) => [resourceOf(kind), ...subresourcesOf(kind).map((one) => partOf(kind, one))]),
  };
}

function resourceOf(kind: Kind): object {
  return {
    name: kind.plural,
    singularName: kind.singular,
    namespaced: kind.namespaced,
    kind: kind.kind,
    verbs: verbsOf(kind),
    ...(kind.shortNames.length === 0 ? {} : { shortNames: kind.shortNames }),
    ...(kind.categories.length === 0 ? {} : { categories: kind.categories }),
  };
}

function partOf(kind: Kind, { name, verbs, body }: ReturnType<typeof subresourcesOf>[number]): object {
  return {
    name: `${kind.plural}/${name}`,
    singularName: "",
    namespaced: kind.namespaced,
    ...(body === undefined ? { kind: kind.kind } : body),
    verbs,
  };
}
