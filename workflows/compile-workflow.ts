import type { WorkflowSpec } from "#api/kinds/workflow.ts";
import { invalid, tooLong } from "#api/validation/rule.ts";
import { finish, type Work } from "#api/work.ts";
import { compileJob, type Jobs, neededJob } from "./compile-job.ts";
import { compileEnv, compileOutputs } from "./compile-texts.ts";
import type { Template } from "./expressions/compile.ts";
import { limits } from "./expressions/limits.ts";
import { workflowScopes } from "./expressions/scopes.ts";
import { type FieldError, under } from "./field-error.ts";
import { following } from "./follow-uses.ts";
import { buildGraph } from "./graph.ts";
import { checkIdentifiers } from "./identifiers.ts";
import { compileInputs } from "./inputs.ts";
import { type Compiled, type JobPlan, type StepPlan, stepsOf, type Where, type WorkflowPlan } from "./plan.ts";
import type { Uses } from "./uses.ts";

export { compileAction, compilingAction } from "./compile-action.ts";
export type { ActionPlan, Compiled, JobPlan, StepPlan, Where, WorkflowPlan } from "./plan.ts";

/** Most jobs of a workflow; the schema has the same. */
export const maxJobs = 64;

type Spec = Pick<WorkflowSpec, "jobs" | "inputs" | "outputs" | "env">;

/**
 * Compiles a workflow with everything that it uses: the graph, ids, artifacts, inputs and every expression. Reports all errors that it
 * finds. Fields that no code honours yet are another matter: `unsupported` in api/ knows them.
 */
export function compileWorkflow(spec: Spec, where: Where = { path: "spec" }): Compiled<WorkflowPlan> {
  return finish(compilingWorkflow(spec, where));
}

/** The same, step by step: 1,000 steps full of expressions would keep a server from everything else for too long. */
export function compilingWorkflow(spec: Spec, where: Where = { path: "spec" }): Work<Compiled<WorkflowPlan>> {
  return compile(spec, where, following(where, compile));
}

/**
 * What is wrong with a workflow, for admission. Actions and Workflows that `where.templates` does not have may come later, so what is
 * said about them is taken as right.
 */
export function workflowErrors(spec: Spec, where: Where = { path: "spec" }): readonly FieldError[] {
  return finish(findingErrors(spec, where));
}

/** The same, step by step. */
export function* findingErrors(spec: Spec, where: Where = { path: "spec" }): Work<readonly FieldError[]> {
  const compiled = yield* compile(spec, where, following(where, compile, { kind: "unchecked" }));
  return compiled.ok ? [] : compiled.errors;
}

function* compile(spec: Spec, where: Where, uses: Uses): Work<Compiled<WorkflowPlan>> {
  const path = under(where.path, "jobs");
  const ids = Object.keys(spec.jobs);
  if (ids.length === 0 || ids.length > maxJobs) {
    const message = ids.length === 0 ? "there is no job" : `there are ${ids.length} jobs`;
    return { ok: false, errors: [invalid(path, message, `Write 1 to ${maxJobs} jobs.`)] };
  }
  yield* uses.prepare(spec.jobs);
  const { graph, errors: graphErrors } = buildGraph(spec.jobs, path);
  const idErrors = checkIdentifiers(
    "job",
    ids.map((id) => [id, under(path, id)]),
  );
  const { inputs, errors: inputErrors } = compileInputs(spec.inputs, under(where.path, "inputs"));
  const inputNames = [...inputs.keys()];
  const scopes = workflowScopes(
    inputNames,
    Object.entries(spec.jobs).map(([id, job]) => neededJob(id, job, uses)),
  );
  const { env, errors: envErrors } = compileEnv(spec.env, () => scopes.env, under(where.path, "env"));
  const errors = [...inputErrors, ...envErrors, ...idErrors, ...graphErrors];
  const jobs: Jobs = spec.jobs;
  const around = { jobs, graph, inputs: inputNames, variables: [...env.keys()], uses, where };
  const plans = new Map<string, JobPlan>();
  for (const id of graph.order) {
    const job = jobs[id];
    if (job === undefined) continue;
    const { plan, errors: faults } = yield* compileJob(id, job, around);
    errors.push(...faults);
    plans.set(id, plan);
  }
  const { texts: outputs, errors: outputErrors } = compileOutputs(
    spec.outputs,
    scopes.outputs,
    under(where.path, "outputs"),
  );
  errors.push(...outputErrors);
  const count = [...plans.values()].reduce((sum, plan) => sum + expressionsOf(plan), 0);
  if (count > limits.expressionsInWorkflow) {
    const message = `there are ${count} expressions, more than ${limits.expressionsInWorkflow}`;
    errors.push(tooLong(path, message, "Split the workflow."));
  }
  return errors.length > 0
    ? { ok: false, errors }
    : { ok: true, plan: { order: graph.order, jobs: plans, env, inputs, outputs } };
}

function expressionsOf({ work, outputs, env, ...job }: JobPlan): number {
  const templates = [...stepsOf({ work }).flatMap(templatesOfStep), ...outputs.values(), ...env.values()];
  return templates.reduce((sum, { expressions }) => sum + expressions.length, job.if === undefined ? 0 : 1);
}

function templatesOfStep({ env, work }: StepPlan): Template[] {
  const own = work.kind === "run" ? [work.run] : work.kind === "action" ? [...work.with.values()] : [];
  return [...env.values(), ...own];
}
