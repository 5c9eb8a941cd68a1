import {
  envContext,
  inputsContext,
  jobContext,
  jobsContext,
  type KnownStep,
  matrixContext,
  type NeededJob,
  needsContext,
  runContext,
  stepsContext,
  strategyContext,
} from "./contexts.ts";
import type { Shape } from "./shape.ts";

/** What may stand in the expressions of one place. */
export interface Scope {
  /** The contexts by name, e.g. `steps` and `needs`. */
  readonly contexts: ReadonlyMap<string, Shape>;
  /** Whether success(), failure(), always() and cancelled() may be called: in `if` only, as on GitHub. */
  readonly status: boolean;
  /** The place, for messages: `the if of a job`. */
  readonly place: string;
}

const scope = (place: string, contexts: Readonly<Record<string, Shape | undefined>>, status = false): Scope => {
  const there = Object.entries(contexts).flatMap(([name, shape]) =>
    shape === undefined ? [] : [[name, shape] as const],
  );
  return { contexts: new Map(there), status, place };
};

/** The places of a workflow outside its jobs. */
export function workflowScopes(inputs: readonly string[], jobs: readonly NeededJob[]) {
  const known = { inputs: inputsContext(inputs), run: runContext };
  return {
    env: scope("the env of a workflow", known),
    outputs: scope("the outputs of a workflow", { ...known, jobs: jobsContext(jobs) }),
  };
}

/** The places of the steps of a job or an Action. */
export interface StepScopes {
  /** The `if`. It is asked before the variables of the step itself are computed. */
  readonly condition: Scope;
  readonly env: Scope;
  /** `run`, `with` and everything else. */
  readonly rest: Scope;
}

export interface JobScopes {
  readonly condition: Scope;
  readonly strategy: Scope;
  /** `env`, `runs-on`, `with` and `continue-on-error`. */
  readonly head: Scope;
  /** @param variables of the step itself */
  step(index: number, variables: readonly string[]): StepScopes;
  readonly outputs: Scope;
}

export interface JobScopeOptions {
  readonly job: string;
  /** Ids of all jobs, for messages. */
  readonly jobs: readonly string[];
  /** Direct needs of the job. */
  readonly needs: readonly NeededJob[];
  readonly inputs: readonly string[];
  readonly steps: readonly KnownStep[];
  /** Variables of the workflow and of the job. */
  readonly variables: readonly string[];
  /** Whether it has a matrix, and its keys as far as they are known. */
  readonly matrix: { readonly keys: readonly string[] | undefined } | undefined;
}

/** The places of a job, with what GitHub lets each of them see. `jobs` is another spelling of `needs`. */
export function jobScopes(options: JobScopeOptions): JobScopes {
  const needs = needsContext(options.job, options.jobs, options.needs);
  const first = { needs, jobs: needs, inputs: inputsContext(options.inputs), run: runContext };
  const { matrix } = options;
  const instance =
    matrix === undefined ? first : { ...first, matrix: matrixContext(matrix.keys), strategy: strategyContext };
  const stepsAt = stepsContext(options.steps);
  return {
    condition: scope("the if of a job", first, true),
    strategy: scope("the strategy of a job", first),
    head: scope("this field of a job", instance),
    step: stepScopes({ ...instance, job: jobContext }, options.variables, stepsAt),
    outputs: scope("the outputs of a job", {
      ...instance,
      job: jobContext,
      env: envContext(options.variables),
      steps: stepsAt(options.steps.length),
    }),
  };
}

/** The places of an Action. It knows nothing of the job that uses it but what `with` hands over. */
export function actionScopes(inputs: readonly string[], steps: readonly KnownStep[], variables: readonly string[]) {
  const known = { inputs: inputsContext(inputs), run: runContext, job: jobContext };
  const stepsAt = stepsContext(steps);
  return {
    env: scope("the env of an Action", known),
    step: stepScopes(known, variables, stepsAt),
    outputs: scope("the outputs of an Action", {
      ...known,
      env: envContext(variables),
      steps: stepsAt(steps.length),
    }),
  };
}

/** Most steps have few expressions or none, so each scope is made when it is asked for. */
function stepScopes(
  known: Readonly<Record<string, Shape>>,
  variables: readonly string[],
  stepsAt: (index: number) => Shape,
): JobScopes["step"] {
  const outer = envContext(variables);
  return (index, own) => {
    const before = () => ({ ...known, env: outer, steps: stepsAt(index) });
    return {
      get condition() {
        return scope("the if of a step", before(), true);
      },
      get env() {
        return scope("the env of a step", before());
      },
      get rest() {
        const env = own.length === 0 ? outer : envContext([...new Set([...variables, ...own])]);
        return scope("a step", { ...before(), env });
      },
    };
  };
}
