/**
 * What an expression may refer to at one place: a tree of names. Inner nodes list members that are known when the workflow is
 * compiled (steps, jobs); leaves are values, whose keys may be known (declared outputs) or not (outputs of a step).
 */
export type Shape = Members | Values | Leaf;

/** Members that are known, each with a shape of its own. */
export interface Members {
  readonly kind: "members";
  /** What a member is called, e.g. `step`. */
  readonly noun: string;
  /** The member of that name in any case, spelled as the spec spells it. */
  find(name: string): { readonly name: string; readonly shape: Shape } | undefined;
  /** Names of all members. */
  names(): readonly string[];
  /** Why a name that people may expect is not there, e.g. because the step comes later. */
  explain?(name: string): string | undefined;
}

/** Values that exist only at run time, under names of their own. */
export interface Values {
  readonly kind: "values";
  /** What a value is called, e.g. `output`. */
  readonly noun: string;
  /** The keys that can be there; absent when anything can. */
  readonly keys?: readonly string[];
  /** Values may be objects and lists, with members that only the run time knows. Otherwise they are texts, numbers and truth values. */
  readonly deep?: true;
}

/** A single value without members. */
export interface Leaf {
  readonly kind: "leaf";
}

export const leaf: Leaf = { kind: "leaf" };

/** Names in expressions are compared without case. */
export function same(a: string, b: string): boolean {
  return a === b || a.toLowerCase() === b.toLowerCase();
}

export function membersOf(noun: string, members: readonly (readonly [name: string, shape: Shape])[]): Members {
  // Names that differ only in case do not occur together where the spec is right; where it is not, the first one is meant.
  const byName = new Map(members.toReversed().map(([name, shape]) => [name.toLowerCase(), { name, shape }]));
  return {
    kind: "members",
    noun,
    find: (name) => byName.get(name.toLowerCase()),
    names: () => members.map(([name]) => name),
  };
}

export const valuesOf = (noun: string, keys?: readonly string[]): Values => ({
  kind: "values",
  noun,
  ...(keys === undefined ? {} : { keys }),
});
