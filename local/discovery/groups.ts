import type { Kind } from "#local/apiserver/index.ts";

/** The versions of a group, the preferred one first. */
export interface Group {
  /** `""` for the core group. */
  readonly name: string;
  readonly versions: readonly { readonly name: string; readonly kinds: readonly Kind[] }[];
}

/** Kinds by group and version, in the order in which they are served. */
export function groupsOf(kinds: readonly Kind[]): readonly Group[] {
  const groups = new Map<string, Map<string, Kind[]>>();
  for (const kind of kinds) {
    const versions = groups.get(kind.group) ?? new Map<string, Kind[]>();
    groups.set(kind.group, versions);
    versions.set(kind.version, [...(versions.get(kind.version) ?? []), kind]);
  }
  return [...groups].map(([name, versions]) => ({
    name,
    versions: [...versions].map(([version, members]) => ({ name: version, kinds: members })),
  }));
}

/** `group/version`, or the version alone for the core group. */
export function groupVersion(group: string, version: string): string {
  return group === "" ? version : `${group}/${version}`;
}
