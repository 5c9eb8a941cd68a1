import type { Kind } from "#local/apiserver/index.ts";
import { type Group, groupVersion } from "./groups.ts";
import { subresourcesOf, verbsOf } from "./verbs.ts";

/**
 * Discovery in one document (apidiscovery.k8s.io APIGroupDiscoveryList), for `/api` and `/apis`.
 *
 * @param version `v2`, or `v2beta1` for older clients; they have the same form
 */
export function aggregatedDiscovery(groups: readonly Group[], version: string): object {
  return {
    kind: "APIGroupDiscoveryList",
    apiVersion: `apidiscovery.k8s.io/${version}`,
    metadata: {},
    items: groups.map((group) => ({
      metadata: { ...(group.name === "" ? {} : { name: group.name }), creationTimestamp: null },
      versions: group.versions.map(({ name, kinds }) => ({
        version: name,
        freshness: "Current",
        resources: kinds.map(resourceOf),
      })),
    })),
  };
}

function resourceOf(kind: Kind): object {
  const scope = kind.namespaced ? "Namespaced" : "Cluster";
  const parts = subresourcesOf(kind);
  return {
    resource: kind.plural,
    responseKind: { group: kind.group, version: kind.version, kind: kind.kind },
    scope,
    singularResource: kind.singular,
    verbs: verbsOf(kind),
    ...(kind.shortNames.length === 0 ? {} : { shortNames: kind.shortNames }),
    ...(kind.categories.length === 0 ? {} : { categories: kind.categories }),
    ...(parts.length === 0
      ? {}
      : {
          subresources: parts.map(({ name, verbs, body }) => ({
            subresource: name,
            responseKind: body ?? { group: kind.group, version: kind.version, kind: kind.kind },
            verbs,
          })),
        }),
  };
}

/** Paths at which something is served, for `GET /`. */
export function rootPaths(groups: readonly Group[], others: readonly string[]): object {
  const named = groups.filter(({ name }) => name !== "");
  const paths = [
    "/api",
    "/api/v1",
    "/apis",
    ...named.flatMap(({ name, versions }) => [
      `/apis/${name}`,
      ...versions.map((version) => `/apis/${groupVersion(name, version.name)}`),
    ]),
    ...others,
  ];
  return { paths: [...paths].sort() };
}
