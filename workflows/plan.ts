import type { Template } from "./expressions/compile.ts";
import type { FieldError } from "./field-error.ts";
import type { ArtifactReference } from "./references.ts";
import type { Language } from "./script/language.ts";

/** A step, ready to become a child Run. */
export interface StepPlan {
  readonly name: string;
  /** Position in its job, from 0. */
  readonly index: number;
  /** Path of the step in the spec, for messages. */
  readonly path: string;
  readonly run: Template;
  readonly artifacts: readonly ArtifactReference[];
}

/** A job with steps of its own. */
export interface JobPlan {
  readonly id: string;
  /** Runtime that runs the steps. */
  readonly runsOn: string;
  /** Direct needs, as listed. */
  readonly needs: readonly string[];
  /** Jobs that wait for it. */
  readonly dependents: readonly string[];
  readonly steps: readonly StepPlan[];
  /** Declared outputs by name. */
  readonly outputs: ReadonlyMap<string, Template>;
}

/** A workflow that compiled: plain data and parsed expressions. Keep it as long as the spec that it came from. */
export interface WorkflowPlan {
  /** Ids of all jobs, each after the ones it needs. */
  readonly order: readonly string[];
  /** In the same order. */
  readonly jobs: ReadonlyMap<string, JobPlan>;
}

/** An Action that compiled. */
export interface ActionPlan {
  readonly steps: readonly StepPlan[];
  readonly outputs: ReadonlyMap<string, Template>;
}

export type Compiled<Plan> =
  | { readonly ok: true; readonly plan: Plan }
  | { readonly ok: false; readonly errors: readonly FieldError[] };

/** Where the spec stands and what is known of its surroundings. */
export interface Where {
  /** Path of the spec: `spec` in an object. */
  readonly path: string;
  /**
   * The language of the scripts of a Runtime. Without it, or where it answers nothing, the places of expressions are only checked in
   * scripts with a `#!` line, and again when the child Run is made.
   */
  readonly languageOf?: (runtime: string) => Language | undefined;
}
