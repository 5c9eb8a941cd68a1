import { parseDuration } from "#api/duration.ts";
import type { JobSpec, StepSpec } from "#api/kinds/job.ts";
import { maxBackoffMs } from "#api/runs.ts";
import { checkDuration } from "#api/validation/duration.ts";
import { invalid } from "#api/validation/rule.ts";
import { type Condition, type ConditionResult, compileCondition } from "./expressions/compile.ts";
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

/** The scopes of `if`, and of `continue-on-error`. */
export interface CommonScopes {
  readonly condition: Scope;
  readonly rest: Scope;
}

/** Compiles what jobs and steps have in common. */
export function compileCommon(
  spec: CommonSpec,
  scopes: CommonScopes,
  path: string,
): { common: CommonPlan; errors: readonly FieldError[] } {
  const { if: condition, timeout, retry } = spec;
  const flag = spec["continue-on-error"];
  if (condition === undefined && timeout === undefined && retry === undefined && flag === undefined) return nothing;
  const errors: FieldError[] = [
    ...checkDuration(under(path, "timeout"), timeout),
    ...checkDuration(under(path, "retry", "backoff"), retry?.backoff, { minMs: 0, maxMs: maxBackoffMs }),
  ];
  const asked = condition === undefined ? undefined : compileIf(condition, scopes.condition, under(path, "if"));
  if (asked?.ok === false) errors.push(...asked.errors);
  const going = compileFlag(flag, scopes, under(path, "continue-on-error"));
  errors.push(...going.errors);
  const timeoutMs = parseDuration(timeout);
  const backoffMs = parseDuration(retry?.backoff) ?? defaultBackoffMs;
  const common = {
    ...(asked?.ok === true ? { if: asked.condition } : {}),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    continueOnError: going.flag,
    ...(retry === undefined ? {} : { retry: { attempts: retry.attempts, backoffMs } }),
  };
  return { common, errors };
}

/** Most jobs and steps have none of it. */
const nothing = { common: { continueOnError: false }, errors: [] } as const;

/** The text of an `if`, or `true` and `false` as YAML has them. */
function compileIf(value: unknown, scope: Scope, path: string): ConditionResult {
  if (typeof value === "string" || typeof value === "boolean") return compileCondition(String(value), scope, path);
  const message = "a condition is an expression";
  return { ok: false, errors: [invalid(path, message, "Write it as a text, e.g. if: failure().")] };
}

function compileFlag(
  value: unknown,
  scopes: CommonScopes,
  path: string,
): { flag: Flag; errors: readonly FieldError[] } {
  if (value === undefined) return { flag: false, errors: [] };
  if (typeof value === "boolean") return { flag: value, errors: [] };
  if (typeof value !== "string" || !value.includes("${{")) {
    const message = `${JSON.stringify(value)} is neither true nor false`;
    return { flag: false, errors: [invalid(path, message, "Write true, false or one expression in ${{ }}.")] };
  }
  const compiled = compileCondition(value, scopes.rest, path);
  return compiled.ok ? { flag: compiled.condition, errors: [] } : { flag: false, errors: compiled.errors };
}
