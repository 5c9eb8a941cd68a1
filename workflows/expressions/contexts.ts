/**
 * What an expression may refer to at one place: a tree of names. Inner nodes list members that are known when the workflow is
 * compiled (steps, jobs); leaves are values, whose keys may be known (declared outputs) or not (outputs of a step).
 */
export type Shape = Members | Values;

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

/** Values that exist only at run time. */
export interface Values {
  readonly kind: "values";
  /** What a value is called, e.g. `output`. */
  readonly noun: string;
  /** The keys that can be there; absent when anything can. */
  readonly keys?: readonly string[];
}

/** The contexts of one place by name, e.g. `steps` and `needs`. */
export type Scope = ReadonlyMap<string, Shape>;

/** What an expression refers to. */
export interface Reference {
  /**
   * Names from the context on, spelled as the spec spells them, e.g. `["steps", "build", "outputs", "tag"]`. Without the last
   * key it means all values together.
   */
  readonly path: readonly string[];
}

/** A job that another one needs, as far as expressions see it. */
export interface NeededJob {
  readonly id: string;
  /** Names of its declared outputs. */
  readonly outputs: readonly string[];
}

export interface ScopeOptions {
  readonly job: string;
  /** Ids of all jobs, for messages. */
  readonly jobs: readonly string[];
  /** Steps of the job. */
  readonly steps: readonly string[];
  /** Direct needs of the job. */
  readonly needs: readonly NeededJob[];
}

/** What a place may refer to: a step sees the ones before it, and the place behind the last step sees all. */
export type ScopeAt = (index: number) => Scope;

/** What steps of a job and its outputs may refer to: `steps`, and `needs` with its other spelling `jobs`. */
export function jobScope({ job, jobs, steps, needs }: ScopeOptions): ScopeAt {
  const needed: Shape = {
    ...membersOf(
      "job",
      needs.map((need) => [need.id, onlyOutputs(need.outputs)]),
    ),
    explain: (name) => {
      const id = jobs.find((other) => same(other, name));
      if (id === undefined) return undefined;
      if (id === job) return `job "${job}" cannot refer to itself; its own steps are in steps`;
      return `job "${id}" is not a direct need of "${job}"; add it to its needs`;
    },
  };
  const stepsAt = stepsScope(steps);
  return (index) => new Map([...stepsAt(index), ["needs", needed], ["jobs", needed]]);
}

/** What steps of an Action may refer to: the outputs of the steps before. */
export function stepsScope(steps: readonly string[]): ScopeAt {
  const all = membersOf(
    "earlier step",
    steps.map((step) => [step, onlyOutputs()]),
  );
  const positions = new Map(steps.map((step, index) => [step, index]));
  const find = (name: string, index: number) => {
    const found = all.find(name);
    return found !== undefined && (positions.get(found.name) ?? 0) < index ? found : undefined;
  };
  return (index) => {
    const explain = (name: string) => {
      const later = all.find(name);
      return later === undefined ? undefined : `step "${later.name}" has not run yet at this place`;
    };
    const names = () => steps.slice(0, index);
    return new Map([["steps", { ...all, find: (name: string) => find(name, index), names, explain }]]);
  };
}

function membersOf(noun: string, members: readonly (readonly [name: string, shape: Shape])[]): Members {
  // Names that differ only in case do not occur together where the spec is right; where it is not, the first one is meant.
  const byName = new Map(members.toReversed().map(([name, shape]) => [name.toLowerCase(), { name, shape }]));
  return {
    kind: "members",
    noun,
    find: (name) => byName.get(name.toLowerCase()),
    names: () => members.map(([name]) => name),
  };
}

/** A step or a job: so far its outputs are all that can be asked for. */
function onlyOutputs(keys?: readonly string[]): Shape {
  const outputs: Shape = { kind: "values", noun: "output", ...(keys === undefined ? {} : { keys }) };
  return membersOf("member", [["outputs", outputs]]);
}

/** Names in expressions are compared without case. */
export function same(a: string, b: string): boolean {
  return a === b || a.toLowerCase() === b.toLowerCase();
}
