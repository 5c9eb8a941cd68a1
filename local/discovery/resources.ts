import type { Kind } from "#local/apiserver/index.ts";
import { subresourcesOf, verbsOf } from "./verbs.ts";

/** A resource or (`runs/status`) a subresource, as `GET /apis/GROUP/VERSION` lists it (metav1 APIResource). */
export interface ApiResource {
  readonly name: string;
  readonly singularName: string;
  readonly namespaced: boolean;
  readonly kind: string;
  /** Where the kind is not of the group and version that list it. */
  readonly group?: string;
  readonly version?: string;
  readonly verbs: readonly string[];
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
}

/** A version of a group and its resources. */
export interface GroupVersion {
  readonly version: string;
  readonly resources: readonly ApiResource[];
}

/** A group, its preferred version first. */
export interface Group {
  /** `""` for the core group. */
  readonly name: string;
  readonly versions: readonly GroupVersion[];
}

/** The groups of kinds, in the order in which the kinds are served. */
export function groupsOf(kinds: readonly Kind[]): readonly Group[] {
  const groups = new Map<string, Map<string, Kind[]>>();
  for (const kind of kinds) {
    const versions = groups.get(kind.group) ?? new Map<string, Kind[]>();
    groups.set(kind.group, versions);
    versions.set(kind.version, [...(versions.get(kind.version) ?? []), kind]);
  }
  return [...groups].map(([name, versions]) => ({
    name,
    versions: [...versions].map(([version, members]) => ({ version, resources: members.flatMap(resourcesOf) })),
  }));
}

/** `group/version`, or the version alone for the core group. */
export function groupVersion(group: string, version: string): string {
  return group === "" ? version : `${group}/${version}`;
}

function resourcesOf(kind: Kind): ApiResource[] {
  const { plural, singular, namespaced, shortNames, categories } = kind;
  const whole: ApiResource = {
    name: plural,
    singularName: singular,
    namespaced,
    kind: kind.kind,
    verbs: verbsOf(kind),
    ...(shortNames.length === 0 ? {} : { shortNames }),
    ...(categories.length === 0 ? {} : { categories }),
  };
  const parts = subresourcesOf(kind).map(({ name, verbs, body }) => ({
    name: `${plural}/${name}`,
    singularName: "",
    namespaced,
    ...(body ?? { kind: kind.kind }),
    verbs,
  }));
  return [whole, ...parts];
}
