import type { JobSpec, StepSpec } from "#api/kinds/job.ts";
import type { ActionSpec, WorkflowSpec } from "#api/kinds/workflow.ts";
import { compileTemplate, type Template } from "./expressions/compile.ts";
import { jobScope, type Scope } from "./expressions/contexts.ts";
import { limits as expressionLimits } from "./expressions/limits.ts";
import type { FieldError } from "./field-error.ts";
import { buildGraph, type JobGraph } from "./graph.ts";
import { checkIdentifiers } from "./identifiers.ts";
import { type ArtifactReference, checkArtifacts } from "./references.ts";
import { compileScript } from "./script/compile-script.ts";
import { type Language, languageOf } from "./script/language.ts";

/** Bounds of one workflow; the schema has the same. */
export const workflowLimits = { jobs: 64, steps: 128 } as const;

/** A step, ready to become a child Run. */
export interface StepPlan {
  readonly name: string;
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

/** A workflow that compiled. Plain data and parsed expressions; keep it as long as the spec it came from. */
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
   * scripts with a `#!` line, and again when the job is ready.
   */
  readonly languageOf?: (runtime: string) => Language | undefined;
}

/**
 * Compiles a workflow: the graph, ids, artifacts and every expression. The one entry for admission, the Valid condition of templates,
 * the workflow controller and krt. Reports all errors that it finds, in the order of the spec.
 */
export function compileWorkflow(
  spec: Pick<WorkflowSpec, "jobs">,
  where: Where = { path: "spec" },
): Compiled<WorkflowPlan> {
  const path = `${where.path}.jobs`;
  const ids = Object.keys(spec.jobs);
  if (ids.length === 0 || ids.length > workflowLimits.jobs) {
    const message =
      ids.length === 0 ? "there is no job" : `there are ${ids.length} jobs, more than ${workflowLimits.jobs}`;
    return { ok: false, errors: [{ path, message, advice: `Write 1 to ${workflowLimits.jobs} jobs.` }] };
  }
  const { graph, errors: graphErrors } = buildGraph(spec.jobs, path);
  const errors = [
    ...checkIdentifiers(
      "job",
      ids.map((id) => [id, `${path}.${id}`]),
    ),
    ...graphErrors,
  ];
  const jobs = new Map<string, JobPlan>();
  let expressions = 0;
  for (const [id, job] of Object.entries(spec.jobs)) {
    const compiled = compileJob(id, job, spec.jobs, graph, where);
    errors.push(...compiled.errors);
    if (compiled.plan !== undefined) jobs.set(id, compiled.plan);
    expressions += compiled.expressions;
  }
  if (expressions > expressionLimits.expressionsInWorkflow) {
    errors.push({
      path,
      message: `there are ${expressions} expressions, more than ${expressionLimits.expressionsInWorkflow}`,
      advice: "Split the workflow.",
    });
  }
  if (errors.length > 0) return { ok: false, errors };
  const inOrder = graph.order.flatMap((id) => {
    const plan = jobs.get(id);
    return plan === undefined ? [] : [[id, plan] as const];
  });
  return { ok: true, plan: { order: graph.order, jobs: new Map(inOrder) } };
}

/** Compiles an Action: its steps, which only have `run`, and the expressions of its outputs. */
export function compileAction(
  spec: Pick<ActionSpec, "steps" | "outputs">,
  where: Pick<Where, "path"> = { path: "spec" },
): Compiled<ActionPlan> {
  const errors: FieldError[] = [];
  const scopeAt = (index: number) => actionScope(spec.steps, index);
  const steps = compileSteps(spec.steps, where.path, undefined, scopeAt, errors);
  for (const [index, step] of spec.steps.entries()) {
    if (step.artifacts === undefined) continue;
    errors.push({
      path: `${where.path}.steps[${index}].artifacts`,
      message: "a step of an Action cannot take artifacts of jobs",
      advice: "Let the job take them in a step before the Action: all steps of a job share their files.",
    });
  }
  const values = Object.entries(spec.outputs ?? {}).map(([name, output]) => [name, output.value] as const);
  const outputs = compileOutputs(values, `${where.path}.outputs`, ".value", scopeAt(spec.steps.length), errors);
  return errors.length > 0 ? { ok: false, errors } : { ok: true, plan: { steps, outputs } };
}

function compileJob(
  id: string,
  job: JobSpec,
  jobs: Readonly<Record<string, JobSpec>>,
  graph: JobGraph,
  where: Where,
): { plan: JobPlan | undefined; errors: FieldError[]; expressions: number } {
  const path = `${where.path}.jobs.${id}`;
  const errors: FieldError[] = [];
  const runsOn = job["runs-on"];
  if (job.steps === undefined) {
    const advice = "Write the steps of the job here; a job made of another Workflow is not supported by this version.";
    return { plan: undefined, errors: [{ path, message: "the job has no steps", advice }], expressions: 0 };
  }
  if (runsOn === undefined) {
    errors.push({ path: `${path}.runs-on`, message: "the job names no Runtime", advice: "Write runs-on: RUNTIME." });
  }
  const needs = graph.needs.get(id) ?? [];
  const scopeAt = (index: number): Scope => scopeOf(id, job.steps ?? [], index, needs, jobs);
  const runtime = runsOn === undefined ? undefined : where.languageOf?.(runsOn);
  const plans = compileSteps(job.steps, path, runtime, scopeAt, errors);
  const steps = plans.map((step, index): StepPlan => {
    const source = job.steps?.[index];
    if (source?.artifacts === undefined) return step;
    const { references, errors: faults } = checkArtifacts(source, id, step.path, jobs, graph);
    errors.push(...faults);
    return { ...step, artifacts: references };
  });
  const outputs = compileOutputs(
    Object.entries(job.outputs ?? {}),
    `${path}.outputs`,
    "",
    scopeAt(job.steps.length),
    errors,
  );
  const templates = [...steps.map((step) => step.run), ...outputs.values()];
  return {
    plan: { id, runsOn: runsOn ?? "", needs, dependents: graph.dependents.get(id) ?? [], steps, outputs },
    errors,
    expressions: templates.reduce((sum, template) => sum + template.expressions.length, 0),
  };
}

function compileSteps(
  specs: readonly StepSpec[],
  parent: string,
  runtime: Language | undefined,
  scopeAt: (index: number) => Scope,
  errors: FieldError[],
): StepPlan[] {
  const path = `${parent}.steps`;
  if (specs.length === 0 || specs.length > workflowLimits.steps) {
    const message = specs.length === 0 ? "there is no step" : `there are ${specs.length} steps`;
    errors.push({ path, message, advice: `Write 1 to ${workflowLimits.steps} steps.` });
    return [];
  }
  errors.push(
    ...checkIdentifiers(
      "step",
      specs.map((step, index) => [step.name, `${path}[${index}].name`]),
    ),
  );
  return specs.map((step, index) => {
    const at = `${path}[${index}]`;
    return {
      name: step.name,
      index,
      path: at,
      run: compileRun(step, at, runtime, scopeAt, index, errors),
      artifacts: [],
    };
  });
}

function compileRun(
  step: StepSpec,
  path: string,
  runtime: Language | undefined,
  scopeAt: (index: number) => Scope,
  index: number,
  errors: FieldError[],
): Template {
  const text = step.run;
  if (text === undefined) {
    const advice = "Write run: with a script; steps made of an Action or of a gate are not supported by this version.";
    errors.push({ path, message: `step "${step.name}" has no run`, advice });
    return { text: "", expressions: [] };
  }
  // Most scripts have no expression: then there is no need for a scope.
  if (!text.includes("${{")) return { text, expressions: [] };
  const { template, errors: faults } = compileTemplate(text, scopeAt(index), `${path}.run`);
  errors.push(...faults);
  const language = languageOf(text, runtime);
  if (faults.length === 0 && language !== undefined) {
    const script = compileScript(template, language, `${path}.run`);
    if (!script.ok) errors.push(...script.errors);
  }
  return template;
}

function compileOutputs(
  values: Iterable<readonly [name: string, text: string]>,
  path: string,
  suffix: string,
  scope: Scope,
  errors: FieldError[],
): Map<string, Template> {
  const outputs = new Map<string, Template>();
  for (const [name, text] of values) {
    const { template, errors: faults } = compileTemplate(text, scope, `${path}.${name}${suffix}`);
    errors.push(...faults);
    outputs.set(name, template);
  }
  return outputs;
}

function scopeOf(
  job: string,
  steps: readonly StepSpec[],
  index: number,
  needs: readonly string[],
  jobs: Readonly<Record<string, JobSpec>>,
): Scope {
  return jobScope({
    job,
    jobs: Object.keys(jobs),
    steps: steps.slice(0, index).map((step) => step.name),
    laterSteps: steps.slice(index).map((step) => step.name),
    needs: needs.map((id) => ({ id, outputs: Object.keys(jobs[id]?.outputs ?? {}) })),
  });
}

function actionScope(steps: readonly StepSpec[], index: number): Scope {
  const scope = scopeOf("", steps, index, [], {});
  return new Map([...scope].filter(([name]) => name === "steps"));
}
