import type { JobSpec } from "#api/kinds/job.ts";
import { forbidden, invalid, required } from "#api/validation/rule.ts";
import type { Work } from "#api/work.ts";
import { compileCommon } from "./compile-common.ts";
import { compileSteps, knownSteps } from "./compile-steps.ts";
import { compileStrategy } from "./compile-strategy.ts";
import { compileEnv, compileTexts } from "./compile-texts.ts";
import { compileWith } from "./compile-with.ts";
import { compileTemplate } from "./expressions/compile.ts";
import type { NeededJob } from "./expressions/contexts.ts";
import { type JobScopes, jobScopes } from "./expressions/scopes.ts";
import { type FieldError, under } from "./field-error.ts";
import type { JobGraph } from "./graph.ts";
import type { JobPlan, StepPlan, StepsWork, Where, WorkflowWork } from "./plan.ts";
import { checkArtifacts } from "./references.ts";
import { runtimeName } from "./runtime-name.ts";
import { checkUsedName } from "./used-name.ts";
import { type Uses, useErrors } from "./uses.ts";

export type Jobs = Readonly<Record<string, JobSpec>>;

/** What the jobs of a workflow stand in. */
export interface Workflow {
  readonly jobs: Jobs;
  readonly graph: JobGraph;
  /** Names of its inputs and of its variables. */
  readonly inputs: readonly string[];
  readonly variables: readonly string[];
  readonly uses: Uses;
  readonly where: Where;
}

type Result<Plan> = { readonly plan: Plan; readonly errors: readonly FieldError[] };

/** Compiles one job. With errors the plan is not complete. */
export function* compileJob(id: string, job: JobSpec, workflow: Workflow): Work<Result<JobPlan>> {
  const { graph, jobs, where, uses } = workflow;
  const path = under(where.path, "jobs", id);
  const needs = graph.needs.get(id) ?? [];
  const variables = [...new Set([...workflow.variables, ...Object.keys(job.env ?? {})])];
  const options = {
    job: id,
    jobs: Object.keys(jobs),
    needs: needs.map((need) => neededJob(need, jobs[need], uses)),
    inputs: workflow.inputs,
    steps: knownSteps(job.steps ?? [], uses),
    variables,
  };
  const before = jobScopes({ ...options, matrix: undefined });
  const strategy = job.strategy && compileStrategy(id, job.strategy, before.strategy, under(path, "strategy"));
  const scopes = strategy === undefined ? before : jobScopes({ ...options, matrix: { keys: strategy.keys } });

  const { common, errors: commonErrors } = compileCommon(job, { condition: scopes.condition, rest: scopes.head }, path);
  const { env, errors: envErrors } = compileEnv(job.env, () => scopes.head, under(path, "env"));
  const { plan: work, errors: workErrors } = yield* compileJobWork(id, job, path, scopes, workflow);
  const { texts: outputs, errors: outputErrors } = compileTexts(job.outputs, scopes.outputs, under(path, "outputs"));
  const plan: JobPlan = {
    id,
    path,
    needs,
    ancestors: ancestorsOf(id, graph),
    dependents: graph.dependents.get(id) ?? [],
    ...common,
    env,
    outputs,
    ...(strategy?.strategy === undefined ? {} : { strategy: strategy.strategy }),
    work,
  };
  const errors = [...(strategy?.errors ?? []), ...commonErrors, ...envErrors, ...workErrors, ...outputErrors];
  return { plan, errors };
}

/** A job as expressions of others see it. */
export function neededJob(id: string, job: JobSpec | undefined, uses: Uses): NeededJob {
  if (job?.uses === undefined) return { id, outputs: Object.keys(job?.outputs ?? {}) };
  const used = uses.workflow(job.uses);
  return { id, outputs: used.kind === "plan" ? [...used.plan.outputs.keys()] : undefined };
}

/** All jobs that it waits for, nearest first. */
function ancestorsOf(id: string, { needs }: JobGraph): string[] {
  const found = new Set(needs.get(id));
  for (const one of found) for (const next of needs.get(one) ?? []) found.add(next);
  return [...found];
}

const noSteps: StepsWork = { kind: "steps", runsOn: { text: "", expressions: [] }, steps: [] };

function* compileJobWork(
  id: string,
  job: JobSpec,
  path: string,
  scopes: JobScopes,
  workflow: Workflow,
): Work<Result<JobPlan["work"]>> {
  if (job.steps !== undefined && job.uses === undefined)
    return yield* compileStepsWork(id, job, path, scopes, workflow);
  if (job.uses !== undefined && job.steps === undefined)
    return compileWorkflowWork(job, job.uses, path, scopes, workflow);
  const advice = "Write exactly one of steps and uses.";
  const error =
    job.steps === undefined
      ? required(under(path, "steps"), `job "${id}" has no steps`, advice)
      : invalid(path, `job "${id}" has steps and uses at once`, advice);
  return { plan: noSteps, errors: [error] };
}

function* compileStepsWork(
  id: string,
  job: JobSpec,
  path: string,
  scopes: JobScopes,
  { jobs, graph, where, uses }: Workflow,
): Work<Result<StepsWork>> {
  const specs = job.steps ?? [];
  const errors: FieldError[] = [];
  if (job.with !== undefined) {
    const advice = "Set variables with env; with hands values to a Workflow.";
    errors.push(forbidden(under(path, "with"), "a job with steps has no with", advice));
  }
  const at = under(path, "runs-on");
  const name = job["runs-on"];
  if (name === undefined) {
    errors.push(required(at, `job "${id}" names no Runtime`, "Write runs-on with the name of a Runtime."));
  }
  const { template: runsOn, errors: faults } = compileTemplate(name ?? "", scopes.head, at);
  errors.push(...faults);
  if (name !== undefined && runsOn.expressions.length === 0 && faults.length === 0) {
    const known = runtimeName(runsOn, {});
    if (!known.ok) errors.push(invalid(at, known.message, "Write the name of a Runtime."));
  }
  const runtime = name === undefined || runsOn.expressions.length > 0 ? undefined : where.languageOf?.(name);
  const { steps, errors: stepErrors } = yield* compileSteps(specs, { path, runtime, scopes: scopes.step, uses });
  errors.push(...stepErrors);
  const withArtifacts = steps.map((step): StepPlan => {
    const spec = specs[step.index];
    if (spec?.artifacts === undefined) return step;
    const { references, errors: wrong } = checkArtifacts(spec, id, step.path, jobs, graph);
    errors.push(...wrong);
    return { ...step, artifacts: references };
  });
  return { plan: { kind: "steps", runsOn, steps: withArtifacts }, errors };
}

function compileWorkflowWork(
  job: JobSpec,
  name: string,
  path: string,
  scopes: JobScopes,
  { uses }: Workflow,
): Result<WorkflowWork> {
  const errors: FieldError[] = [];
  const foreign = {
    "runs-on": "Leave it out: the jobs of the Workflow say where they run.",
    env: "Hand values over with `with`; the Workflow has an env of its own.",
    outputs: "Leave it out: the job has the outputs of the Workflow.",
    timeout: "Write timeout at the jobs and steps of the Workflow.",
  } as const;
  for (const [field, advice] of Object.entries(foreign)) {
    if (job[field as keyof typeof foreign] === undefined) continue;
    errors.push(forbidden(under(path, field), `a job with uses has no ${field}`, advice));
  }
  const wrong = checkUsedName("Workflow", name, under(path, "uses"));
  if (wrong.length > 0) {
    return { plan: { kind: "workflow", workflow: name, with: new Map() }, errors: [...errors, ...wrong] };
  }
  const used = uses.workflow(name);
  errors.push(...useErrors(used, under(path, "uses")));
  const inputs = used.kind === "plan" ? used.plan.inputs : undefined;
  const { with: values, errors: faults } = compileWith(job.with, inputs, `Workflow "${name}"`, scopes.head, path);
  return { plan: { kind: "workflow", workflow: name, with: values }, errors: [...errors, ...faults] };
}
