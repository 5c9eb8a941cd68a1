import { formatDuration } from "#api/duration.ts";
import type { Run, RunArtifactInput } from "#api/kinds/run.ts";
import type { WorkflowRun } from "#api/kinds/workflow-run.ts";
import { apiVersion } from "#api/labels.ts";
import { childRunName } from "#api/names.ts";
import { runs } from "#api/resources.ts";
import type { CannotStartReason } from "#machines/step-status.ts";
import { childMeta } from "./child-meta.ts";
import { type Env, scriptVariables } from "./env.ts";
import type { ContextValues } from "./expressions/evaluate.ts";
import { formatErrors } from "./field-error.ts";
import { type ScriptWork, type Shell, type StepPlan, scriptOf } from "./plan.ts";
import { compileScript } from "./script/compile-script.ts";
import { type Language, languageOf } from "./script/language.ts";

export interface ChildRunInput {
  readonly owner: WorkflowRun;
  /** Id of the job, or of the instance of its matrix. */
  readonly job: string;
  readonly runtime: string;
  readonly step: StepPlan;
  /** Name of the step that uses the Action whose step it is. */
  readonly parent?: string | undefined;
  /** Attempt of the job, from 1. */
  readonly jobAttempt: number;
  /** Names tried before that belonged to somebody else. */
  readonly collision?: number;
  /** Name of the job-local workspace of this attempt of the job. */
  readonly workspace: string;
  /** Language of the Runtime's scripts; `undefined` while there is no such Runtime. */
  readonly language: Language | undefined;
  /** What its expressions can see. */
  readonly values: ContextValues;
  readonly env: Env;
  readonly artifactInputs?: readonly RunArtifactInput[];
}

export type ChildRunResult =
  | { readonly ok: true; readonly run: Run }
  /** RuntimeNotFound means: not yet, try again when the Runtime is there. Everything else fails the step. */
  | { readonly ok: false; readonly reason: "RuntimeNotFound" | CannotStartReason; readonly message: string };

/**
 * The child Run of one attempt of a step. It has a controller owner and no TTL: it, and the bytes of its artifacts, live as long as
 * the WorkflowRun. The script takes the values of expressions as environment variables. A step with `retry` is one Run with as many
 * attempts: they are in its status, and the files of the job are where they were.
 */
export function childRun(input: ChildRunInput): ChildRunResult {
  const { owner, job, runtime, step, parent, jobAttempt, values, env } = input;
  const text = scriptOf(step);
  const shell = shellOf(step);
  const language = shell ?? languageOf(text.text, input.language);
  if (language === undefined) {
    return { ok: false, reason: "RuntimeNotFound", message: `there is no Runtime "${runtime}"` };
  }
  const compiled = compileScript(text, language, `${step.path}.run`, { taken: Object.keys(env), shell });
  if (!compiled.ok) return { ok: false, reason: "ExpressionFailed", message: formatErrors(compiled.errors) };
  const environment = scriptVariables(compiled.script, values, env);
  if (!environment.ok) {
    return { ok: false, reason: "ExpressionFailed", message: `step "${step.name}": ${environment.message}` };
  }
  const { variables } = environment;
  const inputs = input.artifactInputs ?? [];
  const name = parent === undefined ? step.name : parent;
  const run: Run = {
    apiVersion,
    kind: runs.kind,
    metadata: childMeta(childRunNameOf(input), "workflow-step", { owner, job, jobAttempt, runtime, step: name }),
    spec: {
      runtime,
      source: { inline: withProgram(compiled.script.source, shell, input.language) },
      mode: { task: {} },
      workspace: { name: input.workspace, kind: "PersistentWorkspace", apiGroup: apiVersion },
      ...(inputs.length === 0 ? {} : { artifactInputs: [...inputs] }),
      ...(variables.length === 0 ? {} : { env: variables }),
      ...(step.timeoutMs === undefined ? {} : { timeout: formatDuration(step.timeoutMs) }),
      ...(step.retry === undefined
        ? {}
        : { retryPolicy: { maxAttempts: step.retry.attempts, backoff: formatDuration(step.retry.backoffMs) } }),
    },
  };
  return { ok: true, run };
}

const shellOf = ({ work }: StepPlan): ScriptWork["shell"] => (work.kind === "run" ? work.shell : undefined);

const programs: Readonly<Record<Shell, string>> = {
  bash: "#!/usr/bin/env bash",
  sh: "#!/bin/sh",
  python: "#!/usr/bin/env python3",
  node: "#!/usr/bin/env node",
};

/** The script, with a first line that names its program where the Runtime would take another one. */
function withProgram(source: string, shell: Shell | undefined, runtime: Language | undefined): string {
  return shell === undefined || shell === runtime ? source : `${programs[shell]}\n${source}`;
}

/** The name of that child Run; the same input gives the same name in every reconcile, so creating it twice is harmless. */
export function childRunNameOf(
  input: Pick<ChildRunInput, "owner" | "job" | "step" | "parent" | "jobAttempt" | "collision">,
): string {
  const { owner, job, step, parent } = input;
  return childRunName({
    workflowRun: owner.metadata.name,
    workflowRunUID: owner.metadata.uid ?? "",
    job,
    step: parent ?? step.name,
    ...(parent === undefined ? {} : { actionStep: step.name }),
    jobAttempt: input.jobAttempt,
    collision: input.collision ?? 0,
  });
}
