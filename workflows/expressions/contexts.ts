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
  /** Steps of the job whose outputs can be there: the earlier ones for a step, all of them for the outputs of the job. */
  readonly steps: readonly string[];
  /** Steps of the job that come later, or the step itself. */
  readonly laterSteps?: readonly string[];
  /** Direct needs of the job. */
  readonly needs: readonly NeededJob[];
  /** Ids of all jobs, for messages. */
  readonly jobs: readonly string[];
  readonly job: string;
}

/** What steps of a job and its outputs may refer to: `steps`, and `needs` with its other spelling `jobs`. */
export function jobScope({ steps, laterSteps = [], needs, jobs, job }: ScopeOptions): Scope {
  const stepShape: Shape = { kind: "members", noun: "member", members: new Map([["outputs", outputs()]]) };
  const needShape = new Map(
    needs.map(({ id, outputs: keys }): [string, Shape] => [
      id,
      { kind: "members", noun: "member", members: new Map([["outputs", outputs(keys)]]) },
    ]),
  );
  const needed: Shape = {
    kind: "members",
    noun: "job",
    members: needShape,
    explain: (name) => {
      const id = jobs.find((other) => same(other, name));
      if (id === undefined) return undefined;
      return id === job
        ? `job "${job}" cannot refer to itself; its own steps are in steps`
        : `job "${id}" is not a direct need of "${job}"; add it to its needs`;
    },
  };
  return new Map<string, Shape>([
    [
      "steps",
      {
        kind: "members",
        noun: "earlier step",
        members: new Map(steps.map((step) => [step, stepShape])),
        explain: (name) => {
          const later = laterSteps.find((other) => same(other, name));
          return later === undefined ? undefined : `step "${later}" has not run yet at this place`;
        },
      },
    ],
    ["needs", needed],
    ["jobs", needed],
  ]);
}

/** Names in expressions are compared without case. */
export function same(a: string, b: string): boolean {
  return a === b || a.toLowerCase() === b.toLowerCase();
}

function outputs(keys?: readonly string[]): Values {
  return keys === undefined ? { kind: "values", noun: "output" } : { kind: "values", noun: "output", keys };
}
