import type { JobStatus, StepStatus } from "#api/kinds/workflow-run.ts";
import { type ContextValues, evaluateTemplate } from "./expressions/evaluate.ts";
import type { JobPlan } from "./plan.ts";

/** Characters of one output of a job, and of all of them together (as outputs of Runs). */
const maxOutput = 8192;
const maxOutputs = 65_536;

type Jobs = Readonly<Record<string, JobStatus>> | undefined;

/**
 * What the expressions of a job can see: outputs of its steps that succeeded and outputs of the jobs it needs.
 *
 * @param jobs `status.jobs` of the WorkflowRun
 */
export function contextValues(job: JobPlan, jobs: Jobs): ContextValues {
  const steps = memberOf(jobs, job.id)?.steps ?? [];
  const needed = Object.fromEntries(job.needs.map((id) => [id, { outputs: memberOf(jobs, id)?.outputs ?? {} }]));
  return { steps: Object.fromEntries(steps.filter(succeeded).map(withOutputs)), needs: needed, jobs: needed };
}

export type OutputsResult =
  | { readonly ok: true; readonly outputs: Readonly<Record<string, string>> }
  | { readonly ok: false; readonly reason: "ExpressionFailed" | "OutputsTooLarge"; readonly message: string };

/** The declared outputs of a job whose steps all succeeded. */
export function jobOutputs(job: JobPlan, values: ContextValues): OutputsResult {
  const outputs: [string, string][] = [];
  let size = 0;
  for (const [name, template] of job.outputs) {
    const result = evaluateTemplate(template, values);
    if (!result.ok) return { ok: false, reason: "ExpressionFailed", message: `output "${name}": ${result.message}` };
    size += name.length + result.value.length;
    if (result.value.length > maxOutput || size > maxOutputs) {
      const limit =
        result.value.length > maxOutput ? `more than ${maxOutput}` : `with the others more than ${maxOutputs}`;
      return {
        ok: false,
        reason: "OutputsTooLarge",
        message: `output "${name}" has ${result.value.length} characters, ${limit}`,
      };
    }
    outputs.push([name, result.value]);
  }
  return { ok: true, outputs: Object.fromEntries(outputs) };
}

/** A member of a map from the API: ids may be names like `constructor`, which every object has. */
export function memberOf<T>(map: Readonly<Record<string, T>> | undefined, id: string): T | undefined {
  return map !== undefined && Object.hasOwn(map, id) ? map[id] : undefined;
}

function succeeded(step: StepStatus): boolean {
  return step.phase === "Succeeded";
}

function withOutputs(step: StepStatus): [string, { outputs: Readonly<Record<string, string>> }] {
  return [step.name, { outputs: step.outputs ?? {} }];
}
