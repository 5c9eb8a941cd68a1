import { type ApiResource, type Group, type GroupVersion, groupVersion } from "./resources.ts";

/** `GET /api`. */
export function apiVersions(): object {
  return { kind: "APIVersions", versions: ["v1"], serverAddressByClientCIDRs: [] };
}

/** `GET /apis`. */
export function apiGroupList(groups: readonly Group[]): object {
  return { kind: "APIGroupList", apiVersion: "v1", groups: groups.map(describe) };
}

/** `GET /apis/GROUP`. */
export function apiGroup(group: Group): object {
  return { kind: "APIGroup", apiVersion: "v1", ...describe(group) };
}

function describe({ name, versions }: Group): object {
  const listed = versions.map(({ version }) => ({ groupVersion: groupVersion(name, version), version }));
  return { name, versions: listed, preferredVersion: listed[0] };
}

/** `GET /apis/GROUP/VERSION` and `GET /api/v1`. */
export function apiResourceList(group: string, { version, resources }: GroupVersion): object {
  return { kind: "APIResourceList", apiVersion: "v1", groupVersion: groupVersion(group, version), resources };
}

/**
 * Everything in one document (apidiscovery.k8s.io APIGroupDiscoveryList), for `/api` and `/apis`.
 *
 * @param form `v2`, or `v2beta1` for older clients; they look the same
 */
export function aggregatedDiscovery(groups: readonly Group[], form: string): object {
  return {
    kind: "APIGroupDiscoveryList",
    apiVersion: `apidiscovery.k8s.io/${form}`,
    metadata: {},
    items: groups.map(({ name, versions }) => ({
      metadata: { ...(name === "" ? {} : { name }), creationTimestamp: null },
      versions: versions.map(({ version, resources }) => ({
        version,
        freshness: "Current",
        resources: resources
          .filter((resource) => !resource.name.includes("/"))
          .map((resource) => aggregated(name, version, resource, resources)),
      })),
    })),
  };
}

function aggregated(group: string, version: string, whole: ApiResource, all: readonly ApiResource[]): object {
  const { name, namespaced, singularName, verbs, shortNames, categories } = whole;
  const responseKind = (one: ApiResource) => ({
    group: one.group ?? group,
    version: one.version ?? version,
    kind: one.kind,
  });
  const parts = all.filter((one) => one.name.startsWith(`${name}/`));
  const subresources = parts.map((part) => ({
    subresource: part.name.slice(name.length + 1),
    responseKind: responseKind(part),
    verbs: part.verbs,
  }));
  return {
    resource: name,
    responseKind: responseKind(whole),
    scope: namespaced ? "Namespaced" : "Cluster",
    singularResource: singularName,
    verbs,
    ...(shortNames === undefined ? {} : { shortNames }),
    ...(categories === undefined ? {} : { categories }),
    ...(subresources.length === 0 ? {} : { subresources }),
  };
}

/** Paths at which something is served, for `GET /`. */
export function rootPaths(groups: readonly Group[], others: readonly string[]): object {
  const paths = groups.flatMap(({ name, versions }) => {
    const root = name === "" ? "/api" : `/apis/${name}`;
    return [root, ...versions.map(({ version }) => `${root}/${version}`)];
  });
  return { paths: ["/apis", ...paths, ...others].sort() };
}
