import type { FieldError } from "#api/field-error.ts";
import type { ActionSpec, WorkflowSpec } from "#api/kinds/workflow.ts";
import type { Condition, Template } from "./expressions/compile.ts";
import type { InputPlan } from "./inputs.ts";
import type { MatrixPlan } from "./matrix.ts";
import type { ArtifactReference } from "./references.ts";
import type { Language } from "./script/language.ts";

/** Variables by name. */
export type EnvPlan = ReadonlyMap<string, Template>;

/** True or false, written down or still to be asked. */
export type Flag = boolean | Condition;

/** Repeats after a failure. */
export interface RetryPlan {
  /** Attempts in all. */
  readonly attempts: number;
  /** Milliseconds before the second attempt; doubles each time. */
  readonly backoffMs: number;
}

/** Programs that `shell` can name. */
export type Shell = Exclude<Language, "other">;

/** A script, which becomes a child Run. */
export interface ScriptWork {
  readonly kind: "run";
  readonly run: Template;
  /** What reads the script; without it the Runtime's interpreter, or the program of a `#!` line. */
  readonly shell?: Shell;
}

/** A value that a Resume supplies. */
export interface GateOutput {
  readonly default?: string;
  readonly description?: string;
  /** The only values that it can have. */
  readonly options?: readonly string[];
}

/** A step that waits for a Resume. */
export interface GateWork {
  readonly kind: "gate";
  /** Milliseconds after which it resumes by itself; without it, it waits for ever. */
  readonly durationMs?: number;
  readonly message?: Template;
  readonly outputs: ReadonlyMap<string, GateOutput>;
}

/** A step that is the steps of an Action. */
export interface ActionWork {
  readonly kind: "action";
  /** Name of the Action. */
  readonly action: string;
  readonly plan: ActionPlan;
  readonly with: ReadonlyMap<string, Template>;
}

/** A step of a job or an Action. In an Action its work is always a script, and it takes no artifacts. */
export interface StepPlan {
  readonly name: string;
  /** Position in its job or Action, from 0. */
  readonly index: number;
  /** Path of the step in the spec, for messages. */
  readonly path: string;
  /** Without it: success(). */
  readonly if?: Condition;
  readonly env: EnvPlan;
  readonly timeoutMs?: number;
  /** Default false. */
  readonly continueOnError: Flag;
  readonly retry?: RetryPlan;
  readonly artifacts: readonly ArtifactReference[];
  readonly work: ScriptWork | GateWork | ActionWork;
}

/** Several instances of a job. */
export interface StrategyPlan {
  readonly matrix: MatrixPlan;
  /** Instances at a time; without it as many as there are. */
  readonly maxParallel?: number;
  /** Whether one failure ends the others. */
  readonly failFast: boolean;
}

/** A job with steps of its own. */
export interface StepsWork {
  readonly kind: "steps";
  /** Name of the Runtime that runs the steps; with expressions each instance of a matrix may have another one. */
  readonly runsOn: Template;
  readonly steps: readonly StepPlan[];
}

/** A job that is a reusable Workflow. */
export interface WorkflowWork {
  readonly kind: "workflow";
  /** Name of the Workflow. */
  readonly workflow: string;
  readonly with: ReadonlyMap<string, Template>;
}

export interface JobPlan {
  readonly id: string;
  /** Path of the job in the spec, for messages. */
  readonly path: string;
  /** Direct needs, as listed. */
  readonly needs: readonly string[];
  /** All jobs that it waits for, directly and by others: failure() of its `if` asks for them. */
  readonly ancestors: readonly string[];
  /** Jobs that name it in their needs. */
  readonly dependents: readonly string[];
  /** Without it: success(). */
  readonly if?: Condition;
  readonly env: EnvPlan;
  /** Declared outputs by name. A job that is a Workflow declares none: it has those of the Workflow. */
  readonly outputs: ReadonlyMap<string, Template>;
  readonly timeoutMs?: number;
  /** Default false. */
  readonly continueOnError: Flag;
  readonly retry?: RetryPlan;
  readonly strategy?: StrategyPlan;
  readonly work: StepsWork | WorkflowWork;
}

/** A workflow that compiled: plain data and parsed expressions. Keep it as long as the spec that it came from. */
export interface WorkflowPlan {
  /** Ids of all jobs, each after the ones it needs. */
  readonly order: readonly string[];
  /** In the same order. */
  readonly jobs: ReadonlyMap<string, JobPlan>;
  readonly env: EnvPlan;
  readonly inputs: ReadonlyMap<string, InputPlan>;
  /** Declared outputs by name, over `jobs`. */
  readonly outputs: ReadonlyMap<string, Template>;
}

/** An Action that compiled. */
export interface ActionPlan {
  readonly steps: readonly StepPlan[];
  readonly env: EnvPlan;
  readonly inputs: ReadonlyMap<string, InputPlan>;
  readonly outputs: ReadonlyMap<string, Template>;
}

export type Compiled<Plan> =
  | { readonly ok: true; readonly plan: Plan }
  | { readonly ok: false; readonly errors: readonly FieldError[] };

/** What jobs and steps use by name. */
export interface Templates {
  action(name: string): ActionSpec | undefined;
  workflow(name: string): WorkflowSpec | undefined;
}

/** Where the spec stands and what is known of its surroundings. */
export interface Where {
  /** Path of the spec: `spec` in an object. */
  readonly path: string;
  /**
   * The language of the scripts of a Runtime. Without it, or where it answers nothing, the places of expressions are only checked in
   * scripts with a shell or a `#!` line, and again when the child Run is made.
   */
  readonly languageOf?: (runtime: string) => Language | undefined;
  /** The Actions and Workflows that there are; default none. */
  readonly templates?: Templates;
}

/** The steps of a job; none of a job that is a Workflow. */
export const stepsOf = ({ work }: Pick<JobPlan, "work">): readonly StepPlan[] =>
  work.kind === "steps" ? work.steps : [];

/** `runs-on` of a job as it is written; the name of the Runtime where it has no expression. */
export const runsOnOf = ({ work }: Pick<JobPlan, "work">): string => (work.kind === "steps" ? work.runsOn.text : "");

/** The script of a step; empty for other work. */
export const scriptOf = ({ work }: Pick<StepPlan, "work">): Template =>
  work.kind === "run" ? work.run : { text: "", expressions: [] };
