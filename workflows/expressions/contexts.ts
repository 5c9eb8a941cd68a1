import { leaf, type Members, membersOf, type Shape, same, valuesOf } from "./shape.ts";

/** A job that another one needs, as far as expressions see it. */
export interface NeededJob {
  readonly id: string;
  /** Names of its declared outputs; absent when nobody knows them yet. */
  readonly outputs: readonly string[] | undefined;
}

/** A step, as far as later expressions see it. */
export interface KnownStep {
  readonly name: string;
  /** Names of its outputs, for a step that uses an Action or waits for a Resume; absent when it may write anything. */
  readonly outputs?: readonly string[] | undefined;
}

/** `run`: the WorkflowRun. */
export const runContext: Shape = membersOf(
  "member",
  ["name", "uid", "namespace", "workflow", "attempt"].map((name) => [name, leaf]),
);

/** `job`: the job at work. `status` is `success`, `failure` or `cancelled`, as on GitHub. */
export const jobContext: Shape = membersOf(
  "member",
  ["id", "status", "attempt"].map((name) => [name, leaf]),
);

/** `strategy`: the place of an instance among those of its matrix, in GitHub's words. */
export const strategyContext: Shape = membersOf(
  "member",
  ["fail-fast", "job-index", "job-total", "max-parallel"].map((name) => [name, leaf]),
);

export const inputsContext = (names: readonly string[]): Shape => valuesOf("input", names);

export const envContext = (names: readonly string[]): Shape => valuesOf("variable", names);

/** @param keys of the matrix; undefined when it is computed at run time */
export const matrixContext = (keys: readonly string[] | undefined): Shape => ({
  ...valuesOf("matrix value", keys),
  deep: true,
});

/** `needs` of a job: its direct needs. */
export function needsContext(job: string, jobs: readonly string[], needs: readonly NeededJob[]): Members {
  return {
    ...jobsContext(needs),
    explain: (name) => {
      const id = jobs.find((other) => same(other, name));
      if (id === undefined) return undefined;
      if (id === job) return `job "${job}" cannot refer to itself; its own steps are in steps`;
      return `job "${id}" is not a direct need of "${job}"; add it to its needs`;
    },
  };
}

/** `jobs` of the outputs of a workflow: all of them. */
export const jobsContext = (jobs: readonly NeededJob[]): Members =>
  membersOf(
    "job",
    jobs.map(({ id, outputs }) => [
      id,
      membersOf("member", [
        ["outputs", valuesOf("output", outputs)],
        ["result", leaf],
      ]),
    ]),
  );

const stepContext = (outputs?: readonly string[]): Shape =>
  membersOf("member", [
    ["outputs", valuesOf("output", outputs)],
    ["outcome", leaf],
    ["conclusion", leaf],
  ]);

/** A script may write any output. */
const scriptContext = stepContext();

/** `steps` at a place: a step sees the ones before it, and the place behind the last step sees all. */
export function stepsContext(steps: readonly KnownStep[]): (index: number) => Members {
  // Few jobs refer to their steps, so the index is made when it is asked for.
  let byName: Map<string, number> | undefined;
  const indexOf = (name: string) => {
    byName ??= new Map(steps.map((step, index): [string, number] => [step.name.toLowerCase(), index]).reverse());
    return byName.get(name.toLowerCase());
  };
  return (index) => ({
    kind: "members",
    noun: "earlier step",
    find: (name) => {
      const at = indexOf(name);
      const step = at === undefined || at >= index ? undefined : steps[at];
      return step && { name: step.name, shape: step.outputs === undefined ? scriptContext : stepContext(step.outputs) };
    },
    names: () => steps.slice(0, index).map(({ name }) => name),
    explain: (name) => {
      const later = steps[indexOf(name) ?? -1];
      return later && `step "${later.name}" has not run yet at this place`;
    },
  });
}
