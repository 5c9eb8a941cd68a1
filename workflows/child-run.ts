import type { EnvVar, Run, RunArtifactInput } from "#api/kinds/run.ts";
import type { WorkflowRun } from "#api/kinds/workflow-run.ts";
import { apiVersion } from "#api/labels.ts";
import { childRunName } from "#api/names.ts";
import { runs } from "#api/resources.ts";
import type { CannotStartReason } from "#machines/step-status.ts";
import { childMeta } from "./child-meta.ts";
import { type ContextValues, evaluateExpression } from "./expressions/evaluate.ts";
import { limits } from "./expressions/limits.ts";
import { formatErrors } from "./field-error.ts";
import { type JobPlan, runsOnOf, type StepPlan, scriptOf } from "./plan.ts";
import { compileScript, type Script } from "./script/compile-script.ts";
import { type Language, languageOf } from "./script/language.ts";

export interface ChildRunInput {
  readonly owner: WorkflowRun;
  readonly job: JobPlan;
  readonly step: StepPlan;
  /** Attempts of the job and of the step, from 1. */
  readonly jobAttempt: number;
  readonly stepAttempt: number;
  /** Names tried before that belonged to somebody else. */
  readonly collision?: number;
  /** Name of the job-local workspace of this attempt of the job. */
  readonly workspace: string;
  /** Language of the Runtime's scripts; `undefined` while there is no such Runtime. */
  readonly language: Language | undefined;
  /** From `contextValues`. */
  readonly values: ContextValues;
  readonly artifactInputs?: readonly RunArtifactInput[];
}

export type ChildRunResult =
  | { readonly ok: true; readonly run: Run }
  /** RuntimeNotFound means: not yet, try again when the Runtime is there. Everything else fails the step. */
  | { readonly ok: false; readonly reason: "RuntimeNotFound" | CannotStartReason; readonly message: string };

/**
 * The child Run of one attempt of a step. It has a controller owner and no TTL: it, and the bytes of its artifacts, live as long as
 * the WorkflowRun. The script takes the values of expressions as environment variables.
 */
export function childRun(input: ChildRunInput): ChildRunResult {
  const { owner, job, step, jobAttempt, values } = input;
  const script = scriptOf(step);
  const runtime = runsOnOf(job);
  const language = languageOf(script.text, input.language);
  if (language === undefined) {
    return { ok: false, reason: "RuntimeNotFound", message: `there is no Runtime "${runtime}"` };
  }
  const compiled = compileScript(script, language, `${step.path}.run`);
  if (!compiled.ok) return { ok: false, reason: "ExpressionFailed", message: formatErrors(compiled.errors) };
  const env = environment(compiled.script, values);
  if (!env.ok) return { ok: false, reason: "ExpressionFailed", message: `step "${step.name}": ${env.message}` };
  const inputs = input.artifactInputs ?? [];
  const belonging = { owner, job: job.id, jobAttempt, runtime, step: step.name };
  const run: Run = {
    apiVersion,
    kind: runs.kind,
    metadata: childMeta(childRunNameOf(input), "workflow-step", belonging),
    spec: {
      runtime,
      source: { inline: compiled.script.source },
      mode: { task: {} },
      workspace: { name: input.workspace, kind: "PersistentWorkspace", apiGroup: apiVersion },
      ...(inputs.length === 0 ? {} : { artifactInputs: [...inputs] }),
      ...(env.variables.length === 0 ? {} : { env: env.variables }),
    },
  };
  return { ok: true, run };
}

/** The name of that child Run; the same input gives the same name in every reconcile, so creating it twice is harmless. */
export function childRunNameOf(
  input: Pick<ChildRunInput, "owner" | "job" | "step" | "jobAttempt" | "stepAttempt" | "collision">,
): string {
  return childRunName({
    workflowRun: input.owner.metadata.name,
    workflowRunUID: input.owner.metadata.uid ?? "",
    job: input.job.id,
    step: input.step.name,
    jobAttempt: input.jobAttempt,
    stepAttempt: input.stepAttempt,
    collision: input.collision ?? 0,
  });
}

type Environment =
  | { readonly ok: true; readonly variables: EnvVar[] }
  | { readonly ok: false; readonly message: string };

function environment(script: Script, values: ContextValues): Environment {
  const variables: EnvVar[] = [];
  let length = 0;
  for (const { name, expression } of script.variables) {
    const result = evaluateExpression(expression, values, script.text);
    if (!result.ok) return result;
    const { value } = result;
    const source = expression.source.trim();
    length += value.length;
    if (value.length > limits.variableLength) {
      const message = `\`${source}\` has ${value.length} characters; a script takes at most ${limits.variableLength}, use an artifact for more`;
      return { ok: false, message };
    }
    if (length > limits.variablesLength) {
      return {
        ok: false,
        message: `the values of all expressions have more than ${limits.variablesLength} characters`,
      };
    }
    if (value.includes("\0"))
      return { ok: false, message: `\`${source}\` has a NUL character, which no script can take` };
    variables.push({ name, value });
  }
  return { ok: true, variables };
}
