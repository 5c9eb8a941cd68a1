import type { JobStatus } from "#api/kinds/workflow-run.ts";
import { resolveArtifacts } from "#workflows/artifacts.ts";
import { type ChildRunResult, childRun, childRunNameOf } from "#workflows/child-run.ts";
import type { StepPlan } from "#workflows/plan.ts";
import { runtimeLanguage } from "#workflows/script/language.ts";
import { type JobContext, runtimeNameOf, workspaceNameOf } from "./job-context.ts";
import { ownValues, type StepPlace, stepEnv } from "./step-place.ts";

/** The first step of an Action that runs gets the artifacts for all of them: files stay in the workspace. */
const isFirstToRun = ({ parent, steps }: StepPlace, step: StepPlan) =>
  parent === undefined || steps.slice(0, step.index).every(({ runName }) => runName === undefined);

/** Name of the child Run of a step. */
export function runNameOf(
  { seen, job }: JobContext,
  status: JobStatus,
  step: StepPlan,
  parent: StepPlan | undefined,
  collision: number,
): string {
  return childRunNameOf({
    owner: seen.run,
    job: job.id,
    step,
    parent: parent?.name,
    jobAttempt: status.attempt ?? 1,
    collision,
  });
}

/** The child Run of a step, built from the statuses of this pass. */
export function buildRun(
  context: JobContext,
  status: JobStatus,
  place: StepPlace,
  step: StepPlan,
  collision: number,
): ChildRunResult {
  const { seen, job, jobs } = context;
  const { parent } = place;
  const runtime = runtimeNameOf(context);
  if (!runtime.ok) return { ok: false, reason: "ExpressionFailed", message: `runs-on: ${runtime.message}` };
  const artifacts = resolveArtifacts(job, jobs);
  if (!artifacts.ok) return artifacts;
  const [inherited, env, values] = [place.inherited(), stepEnv(place, step), ownValues(place, step)];
  const fault = [inherited, env, values].find(({ ok }) => !ok);
  if (!inherited.ok || !env.ok || !values.ok) {
    const message = `step "${step.name}": ${fault?.ok === false ? fault.message : "it has no values"}`;
    return { ok: false, reason: "ExpressionFailed", message };
  }
  const found = seen.runtimeOf(runtime.value);
  return childRun({
    owner: seen.run,
    job: job.id,
    runtime: runtime.value,
    step,
    parent: parent?.name,
    jobAttempt: status.attempt ?? 1,
    collision,
    workspace: workspaceNameOf(context, status),
    language: found && runtimeLanguage(found.spec),
    values: values.values,
    env: { ...inherited.env, ...env.env },
    artifactInputs: isFirstToRun(place, step) ? (artifacts.inputs.get((parent ?? step).name) ?? []) : [],
  });
}
