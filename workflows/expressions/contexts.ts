/**
 * What an expression may refer to at one place: a tree of names. Inner nodes list members that are known when the workflow is
 * compiled (steps, jobs); leaves are values, whose keys may be known (declared outputs) or not (outputs of a step).
 */
export type Shape = Members | Values;

/** Known members, each with a shape of its own. */
export interface Members {
  readonly kind: "members";
  /** What a member is called, e.g. `step`. */
  readonly noun: string;
  /** By name as the spec writes it; names that differ only in case do not occur together. */
  readonly members: ReadonlyMap<string, Shape>;
  /** A better message for a name that is not there, e.g. because the step comes later. */
  readonly explain?: (name: string) => string | undefined;
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
  /** The place: a step sees the ones before it, and what comes after the last step sees all. */
  readonly index: number;
  /** Direct needs of the job. */
  readonly needs: readonly NeededJob[];
}

/** What steps of a job and its outputs may refer to: `steps`, and `needs` with its other spelling `jobs`. */
export function jobScope({ job, jobs, steps, index, needs }: ScopeOptions): Scope {
  const needed: Shape = {
    kind: "members",
    noun: "job",
    members: new Map(needs.map((need) => [need.id, onlyOutputs(need.outputs)])),
    explain: (name) => {
      const id = jobs.find((other) => same(other, name));
      if (id === undefined) return undefined;
      if (id === job) return `job "${job}" cannot refer to itself; its own steps are in steps`;
      return `job "${id}" is not a direct need of "${job}"; add it to its needs`;
    },
  };
  return new Map([...stepsScope(steps, index), ["needs", needed], ["jobs", needed]]);
}

/** What steps of an Action may refer to: the outputs of the steps before. */
export function stepsScope(steps: readonly string[], index: number): Scope {
  const shape = onlyOutputs();
  const explain = (name: string) => {
    const later = steps.slice(index).find((other) => same(other, name));
    return later === undefined ? undefined : `step "${later}" has not run yet at this place`;
  };
  const members = new Map(steps.slice(0, index).map((step) => [step, shape]));
  return new Map([["steps", { kind: "members", noun: "earlier step", members, explain }]]);
}

/** A step or a job: so far its outputs are all that can be asked for. */
function onlyOutputs(keys?: readonly string[]): Shape {
  const outputs: Shape = { kind: "values", noun: "output", ...(keys === undefined ? {} : { keys }) };
  return { kind: "members", noun: "member", members: new Map([["outputs", outputs]]) };
}

/** Names in expressions are compared without case. */
export function same(a: string, b: string): boolean {
  return a === b || a.toLowerCase() === b.toLowerCase();
}
