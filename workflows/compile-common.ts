import { parseDuration } from "#api/duration.ts";
import type { JobSpec, StepSpec } from "#api/kinds/job.ts";
import { checkDuration } from "#api/validation/duration.ts";
import { invalid } from "#api/validation/rule.ts";
import { type Condition, compileCondition } from "./expressions/compile.ts";
import type { Scope } from "./expressions/scopes.ts";
import { type FieldError, under } from "./field-error.ts";
import type { Flag, RetryPlan } from "./plan.ts";

/** Milliseconds before the second attempt where `backoff` is absent, as for Runs. */
const defaultBackoffMs = 1000;

/** What jobs and steps have in common, compiled. */
export interface CommonPlan {
  readonly if?: Condition;
  readonly timeoutMs?: number;
  readonly continueOnError: Flag;
  readonly retry?: RetryPlan;
}

type CommonSpec = Pick<StepSpec & JobSpec, "if" | "timeout" | "continue-on-error" | "retry">;

/**
 * Compiles what jobs and steps have in common.
 *
 * @param condition scope of `if`
 * @param rest scope of `continue-on-error`
 */
export function compileCommon(
  spec: CommonSpec,
  condition: Scope,
  rest: Scope,
  path: string,
): { common: CommonPlan; errors: FieldError[] } {
  const errors: FieldError[] = [
    ...checkDuration(under(path, "timeout"), spec.timeout),
    ...checkDuration(under(path, "retry", "backoff"), spec.retry?.backoff),
  ];
  const asked = spec.if === undefined ? undefined : compileCondition(spec.if, condition, under(path, "if"));
  if (asked?.ok === false) errors.push(...asked.errors);
  const flag = compileFlag(spec["continue-on-error"], rest, under(path, "continue-on-error"));
  errors.push(...flag.errors);
  const timeoutMs = parseDuration(spec.timeout);
  const common = {
    ...(asked?.ok === true ? { if: asked.condition } : {}),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    continueOnError: flag.flag,
    ...(spec.retry === undefined
      ? {}
      : {
          retry: {
            attempts: spec.retry.attempts,
            backoffMs: parseDuration(spec.retry.backoff) ?? defaultBackoffMs,
          },
        }),
  };
  return { common, errors };
}

function compileFlag(value: unknown, scope: Scope, path: string): { flag: Flag; errors: readonly FieldError[] } {
  if (value === undefined) return { flag: false, errors: [] };
  if (typeof value === "boolean") return { flag: value, errors: [] };
  if (typeof value !== "string" || !value.includes("${{")) {
    const message = `${JSON.stringify(value)} is neither true nor false`;
    return { flag: false, errors: [invalid(path, message, "Write true, false or one expression in ${{ }}.")] };
  }
  const compiled = compileCondition(value, scope, path);
  return compiled.ok ? { flag: compiled.condition, errors: [] } : { flag: false, errors: compiled.errors };
}
