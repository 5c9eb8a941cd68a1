import type { JobSpec } from "#api/kinds/job.ts";
import type { ActionSpec, WorkflowSpec } from "#api/kinds/workflow.ts";
import { invalid, required, tooLong } from "#api/validation/rule.ts";
import { compileOutputs, compileSteps } from "./compile-steps.ts";
import { jobScope, type ScopeAt, stepsScope } from "./expressions/contexts.ts";
import { limits } from "./expressions/limits.ts";
import { type FieldError, under } from "./field-error.ts";
import { buildGraph, type JobGraph } from "./graph.ts";
import { checkIdentifiers } from "./identifiers.ts";
import type { ActionPlan, Compiled, JobPlan, StepPlan, Where, WorkflowPlan } from "./plan.ts";
import { checkArtifacts } from "./references.ts";

export type { ActionPlan, Compiled, JobPlan, StepPlan, Where, WorkflowPlan } from "./plan.ts";

/** Most jobs of a workflow; the schema has the same. */
export const maxJobs = 64;

type Jobs = Readonly<Record<string, JobSpec>>;

/**
 * Compiles a workflow: the graph, ids, artifacts and every expression. The one entry for admission, the Valid condition of templates,
 * the workflow controller and krt. Reports all errors that it finds. Fields that no code honours yet are another matter:
 * `unsupported` in api/ knows them.
 */
export function compileWorkflow(
  spec: Pick<WorkflowSpec, "jobs">,
  where: Where = { path: "spec" },
): Compiled<WorkflowPlan> {
  const path = under(where.path, "jobs");
  const ids = Object.keys(spec.jobs);
  if (ids.length === 0 || ids.length > maxJobs) {
    const message = ids.length === 0 ? "there is no job" : `there are ${ids.length} jobs`;
    return { ok: false, errors: [invalid(path, message, `Write 1 to ${maxJobs} jobs.`)] };
  }
  const { graph, errors: graphErrors } = buildGraph(spec.jobs, path);
  const idErrors = checkIdentifiers(
    "job",
    ids.map((id) => [id, under(path, id)]),
  );
  const errors = [...idErrors, ...graphErrors];
  const plans = new Map<string, JobPlan>();
  for (const id of graph.order) {
    const { plan, errors: faults } = compileJob(id, spec.jobs, graph, where);
    errors.push(...faults);
    if (plan !== undefined) plans.set(id, plan);
  }
  const expressions = [...plans.values()].reduce((sum, plan) => sum + expressionsOf(plan), 0);
  if (expressions > limits.expressionsInWorkflow) {
    const message = `there are ${expressions} expressions, more than ${limits.expressionsInWorkflow}`;
    errors.push(tooLong(path, message, "Split the workflow."));
  }
  return errors.length > 0 ? { ok: false, errors } : { ok: true, plan: { order: graph.order, jobs: plans } };
}

/** Compiles an Action: its steps and the expressions in them and in its outputs. */
export function compileAction(
  spec: Pick<ActionSpec, "steps" | "outputs">,
  where: Pick<Where, "path"> = { path: "spec" },
): Compiled<ActionPlan> {
  const names = spec.steps.map((step) => step.name);
  const scopeAt = stepsScope(names);
  const { steps, errors } = compileSteps(spec.steps, { path: where.path, runtime: undefined, scopeAt });
  const values = Object.entries(spec.outputs ?? {}).map(
    ([name, { value }]) => [name, value, under(where.path, "outputs", name, "value")] as const,
  );
  const { outputs, errors: faults } = compileOutputs(values, scopeAt(names.length));
  errors.push(...faults);
  return errors.length > 0 ? { ok: false, errors } : { ok: true, plan: { steps, outputs } };
}

function compileJob(
  id: string,
  jobs: Jobs,
  graph: JobGraph,
  where: Where,
): { plan: JobPlan | undefined; errors: FieldError[] } {
  const path = under(where.path, "jobs", id);
  const job = jobs[id];
  if (job?.steps === undefined) {
    const advice = "Write steps, each with run; no other kind of job is supported yet.";
    return { plan: undefined, errors: [required(under(path, "steps"), `job "${id}" has no steps`, advice)] };
  }
  const runsOn = job["runs-on"];
  if (runsOn === undefined) {
    const advice = "Write runs-on with the name of a Runtime.";
    return { plan: undefined, errors: [required(under(path, "runs-on"), `job "${id}" names no Runtime`, advice)] };
  }
  const specs = job.steps;
  const needs = graph.needs.get(id) ?? [];
  const scopeAt = scopesOf(id, jobs, needs);
  const { steps, errors } = compileSteps(specs, { path, runtime: where.languageOf?.(runsOn), scopeAt });
  const withArtifacts = steps.map((step): StepPlan => {
    const spec = specs[step.index];
    if (spec?.artifacts === undefined) return step;
    const { references, errors: faults } = checkArtifacts(spec, id, step.path, jobs, graph);
    errors.push(...faults);
    return { ...step, artifacts: references };
  });
  const values = Object.entries(job.outputs ?? {}).map(
    ([name, text]) => [name, text, under(path, "outputs", name)] as const,
  );
  const { outputs, errors: faults } = compileOutputs(values, scopeAt(specs.length));
  errors.push(...faults);
  const dependents = graph.dependents.get(id) ?? [];
  return { plan: { id, runsOn, needs, dependents, steps: withArtifacts, outputs }, errors };
}

function scopesOf(id: string, jobs: Jobs, needs: readonly string[]): ScopeAt {
  return jobScope({
    job: id,
    jobs: Object.keys(jobs),
    steps: (jobs[id]?.steps ?? []).map((step) => step.name),
    needs: needs.map((need) => ({ id: need, outputs: Object.keys(jobs[need]?.outputs ?? {}) })),
  });
}

function expressionsOf({ steps, outputs }: JobPlan): number {
  const templates = [...steps.map((step) => step.run), ...outputs.values()];
  return templates.reduce((sum, { expressions }) => sum + expressions.length, 0);
}
