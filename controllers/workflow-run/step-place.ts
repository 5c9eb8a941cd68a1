import type { JobStatus, StepStatus } from "#api/kinds/workflow-run.ts";
import { isBad } from "#machines/derive.ts";
import { isCancelReason } from "#machines/job-status.ts";
import { type Env, type EnvResult, evaluateEnv } from "#workflows/env.ts";
import { type ContextValues, evaluateTemplate } from "#workflows/expressions/evaluate.ts";
import { formatErrors } from "#workflows/field-error.ts";
import { inputValues } from "#workflows/inputs.ts";
import { type ActionWork, type StepPlan, stepsOf } from "#workflows/plan.ts";
import { type Result, stepsValues } from "#workflows/values.ts";
import { envOf, headOf, type JobContext } from "./job-context.ts";

export type Values =
  | { readonly ok: true; readonly values: ContextValues }
  | { readonly ok: false; readonly message: string };

/** Where steps stand: in a job, or in the Action that a step of a job uses. What few passes ask for is computed when it is asked for. */
export interface StepPlace {
  readonly plans: readonly StepPlan[];
  readonly steps: readonly StepStatus[];
  /** The step that uses the Action. */
  readonly parent?: StepPlan;
  /** What all expressions there can see, without `env` and `steps`. */
  values(): Values;
  /** The context `env`. */
  env(): EnvResult;
  /** Variables that scripts get beside those: of the job around an Action. */
  inherited(): EnvResult;
}

/** The steps of a job. */
export function jobPlace(context: JobContext, job: JobStatus): StepPlace {
  return {
    plans: stepsOf(context.job),
    steps: job.steps ?? [],
    values: once(() => ({ ok: true, values: { ...headOf(context), job: jobValues(context, job) } })),
    env: once(() => envOf(context)),
    inherited: () => ({ ok: true, env: {} }),
  };
}

/** Where a step of a job, or of the Action that its step `parent` uses, stands; undefined when there is no such step. */
export function placeOf(
  context: JobContext,
  job: JobStatus,
  { step, parent }: { readonly step: string; readonly parent?: string },
): { readonly place: StepPlace; readonly plan: StepPlan } | undefined {
  const outer = jobPlace(context, job);
  const user = outer.plans.find(({ name }) => name === parent);
  const status = outer.steps.find(({ name }) => name === parent);
  const place =
    user?.work.kind === "action" && status !== undefined ? actionPlace(outer, user, user.work, status) : outer;
  const plan = place.plans.find(({ name }) => name === step);
  return plan && { place, plan };
}

function jobValues({ job, instance }: JobContext, status: JobStatus) {
  return { id: instance?.job ?? job.id, status: resultSoFar(status), attempt: status.attempt ?? 1 };
}

/** What the job would come to if it ended now. */
function resultSoFar({ phase, reason, steps = [] }: JobStatus): Result {
  if (phase === "Stopping") return isCancelReason(reason) ? "cancelled" : "failure";
  return steps.some(isBad) ? "failure" : "success";
}

/** The steps of the Action that a step uses. It sees what `with` hands over, and nothing else of the job. */
export function actionPlace(outer: StepPlace, parent: StepPlan, work: ActionWork, status: StepStatus): StepPlace {
  const { plan } = work;
  const values = once(() => actionValues(outer, parent, work));
  const env = once((): EnvResult => {
    const known = values();
    return known.ok ? evaluateEnv(plan.env, known.values) : known;
  });
  const inherited = once((): EnvResult => {
    const [first, second] = [outer.inherited(), stepEnv(outer, parent)];
    if (!first.ok) return first;
    return second.ok ? { ok: true, env: { ...first.env, ...second.env } } : second;
  });
  return { plans: plan.steps, steps: status.steps ?? [], parent, values, env, inherited };
}

function actionValues(outer: StepPlace, parent: StepPlan, { plan, action, with: given }: ActionWork): Values {
  const values = ownValues(outer, parent);
  if (!values.ok) return values;
  const texts: [string, string][] = [];
  for (const [name, template] of given) {
    const result = evaluateTemplate(template, values.values);
    if (!result.ok) return { ok: false, message: `with "${name}": ${result.message}` };
    texts.push([name, result.value]);
  }
  const inputs = inputValues(plan.inputs, Object.fromEntries(texts), `Action "${action}"`, "with");
  if (!inputs.ok) return { ok: false, message: formatErrors(inputs.errors) };
  const { run, job } = values.values;
  return { ok: true, values: { inputs: inputs.values, run, job } };
}

/** The variables of a step, with those of what is around it. */
export function stepEnv(place: StepPlace, step: StepPlan): EnvResult {
  const outer = place.env();
  if (!outer.ok || step.env.size === 0) return outer;
  const values = stepValues(place, outer.env);
  return values.ok ? evaluateEnv(step.env, values.values, outer.env) : values;
}

/** What the `if` of a step can see: the variables around it, and not its own. */
export function outerValues(place: StepPlace): Values {
  const env = place.env();
  return env.ok ? stepValues(place, env.env) : env;
}

/** What `run`, `with` and everything else of a step can see. */
export function ownValues(place: StepPlace, step: StepPlan): Values {
  const env = stepEnv(place, step);
  return env.ok ? stepValues(place, env.env) : env;
}

function stepValues(place: StepPlace, env: Env): Values {
  const known = place.values();
  return known.ok ? { ok: true, values: { ...known.values, env, steps: stepsValues(place.steps) } } : known;
}

function once<T>(compute: () => T): () => T {
  let known: { value: T } | undefined;
  return () => {
    known ??= { value: compute() };
    return known.value;
  };
}
