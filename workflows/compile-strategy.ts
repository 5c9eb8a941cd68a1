import type { JobSpec } from "#api/kinds/job.ts";
import { invalid, required } from "#api/validation/rule.ts";
import type { Scope } from "./expressions/scopes.ts";
import { compileValue } from "./expressions/value.ts";
import { type FieldError, under } from "./field-error.ts";
import { expandMatrix, type MatrixPlan } from "./matrix.ts";
import type { StrategyPlan } from "./plan.ts";

export interface StrategyResult {
  /** Absent with errors. */
  readonly strategy?: StrategyPlan;
  /** Keys of the context `matrix`; undefined when only the run time knows them. */
  readonly keys: readonly string[] | undefined;
  readonly errors: readonly FieldError[];
}

/** Compiles the strategy of a job. A matrix without expressions is expanded here. */
export function compileStrategy(
  job: string,
  spec: NonNullable<JobSpec["strategy"]>,
  scope: Scope,
  path: string,
): StrategyResult {
  const at = under(path, "matrix");
  if (spec.matrix === undefined) {
    const advice = "Write matrix, or leave strategy out.";
    return { keys: undefined, errors: [required(at, "a strategy has a matrix", advice)] };
  }
  const { value, errors } = compileValue(spec.matrix, scope, at);
  const keys = keysOf(spec.matrix);
  if (errors.length > 0) return { keys, errors };
  const maxParallel = spec["max-parallel"];
  const rest = { ...(maxParallel === undefined ? {} : { maxParallel }), failFast: spec["fail-fast"] ?? true };
  if (value.kind !== "constant") return { strategy: { matrix: { kind: "dynamic", value }, ...rest }, keys, errors: [] };
  const expanded = expandMatrix(job, value.value);
  if (!expanded.ok) return { keys, errors: [invalid(under(at, ...expanded.path), expanded.message, expanded.advice)] };
  const matrix: MatrixPlan = { kind: "static", instances: expanded.instances };
  return { strategy: { matrix, ...rest }, keys, errors: [] };
}

/** The keys that a matrix gives its instances, as far as they are written down. */
function keysOf(matrix: unknown): readonly string[] | undefined {
  if (typeof matrix !== "object" || matrix === null) return undefined;
  const { include, exclude: _, ...axes } = matrix as Record<string, unknown>;
  if (include !== undefined && !Array.isArray(include)) return undefined;
  const rows: unknown[] = include ?? [];
  if (rows.some((row) => typeof row !== "object" || row === null)) return undefined;
  return [...new Set([...Object.keys(axes), ...rows.flatMap((row) => Object.keys(row as object))])];
}
