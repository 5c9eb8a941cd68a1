import { jsonEqual } from "#api/json.ts";
import type { ContextValues } from "./expressions/evaluate.ts";
import { evaluateValueTemplate, type ValueTemplate } from "./expressions/value.ts";
import type { JobPlan, WorkflowPlan } from "./plan.ts";

/** Most instances of a job, as on GitHub. */
export const maxInstances = 256;

/** One combination of the values of a matrix. */
export interface MatrixInstance {
  /** Key in `status.jobs`: `<job>.<index>`. Ids of jobs have no dot, and label values may have one. */
  readonly key: string;
  /** From 0, in GitHub's order. */
  readonly index: number;
  /** The context `matrix`. */
  readonly values: Readonly<Record<string, unknown>>;
}

/** The instances of a job, or the value that they follow from once the needs of the job have ended. */
export type MatrixPlan =
  | { readonly kind: "static"; readonly instances: readonly MatrixInstance[] }
  | { readonly kind: "dynamic"; readonly value: ValueTemplate };

export type Instances =
  | { readonly ok: true; readonly instances: readonly MatrixInstance[] }
  /** `path` leads to the wrong place inside the matrix; empty for the matrix itself. */
  | {
      readonly ok: false;
      readonly path: readonly (string | number)[];
      readonly message: string;
      readonly advice: string;
    };

/**
 * The instances of a job, when it becomes ready.
 *
 * @param values of `needs`, `inputs` and `run`
 */
export function instancesOf(job: string, matrix: MatrixPlan, values: ContextValues): Instances {
  if (matrix.kind === "static") return { ok: true, instances: matrix.instances };
  const result = evaluateValueTemplate(matrix.value, values);
  return result.ok ? expandMatrix(job, result.value) : failed(result.message);
}

type Values = Readonly<Record<string, unknown>>;

const failed = (message: string, path: readonly (string | number)[] = [], advice = form) => ({
  ok: false as const,
  path,
  message,
  advice,
});

const form = "Write a map of lists, e.g. {version: [1, 2]}, and exclude and include as lists of maps.";

/**
 * All combinations of the lists of a matrix, the first key varying slowest; without what `exclude` names, and with what `include`
 * adds, both as on GitHub.
 *
 * @param matrix any JSON value
 */
export function expandMatrix(job: string, matrix: unknown): Instances {
  if (!isMap(matrix)) return failed("a matrix is a map of lists");
  const { include = [], exclude = [], ...axes } = matrix;
  for (const [key, values] of Object.entries(axes)) {
    if (!Array.isArray(values)) return failed(`"${key}" is no list`, [key]);
    if (values.length === 0) return failed(`"${key}" has no values`, [key], "Give it at least one value.");
  }
  for (const [key, rows] of Object.entries({ include, exclude })) {
    if (!Array.isArray(rows)) return failed(`${key} is no list`, [key]);
    const index = rows.findIndex((row) => !isMap(row) || Object.keys(row).length === 0);
    if (index >= 0) return failed(`an item of ${key} is a map with at least one member`, [key, index]);
  }
  const lists = Object.entries(axes) as [string, unknown[]][];
  const unknown = (exclude as Values[]).findIndex((row) => Object.keys(row).some((key) => !Object.hasOwn(axes, key)));
  if (unknown >= 0) {
    const known = lists.length === 0 ? "none" : lists.map(([key]) => key).join(", ");
    return failed("exclude names a key that the matrix does not have", ["exclude", unknown], `Keys: ${known}.`);
  }
  const size = lists.reduce((product, [, values]) => product * values.length, lists.length === 0 ? 0 : 1);
  if (size > maxInstances || (include as Values[]).length > maxInstances)
    return tooMany(Math.max(size, maxInstances + 1));
  const rows = included(
    combinations(lists).filter((row) => !(exclude as Values[]).some((out) => contains(row, out))),
    include as Values[],
    axes,
  );
  if (rows.length === 0) return failed("no combination is left", [], "Take less away with exclude.");
  if (rows.length > maxInstances) return tooMany(rows.length);
  return { ok: true, instances: rows.map((values, index) => ({ key: instanceKey(job, index), index, values })) };
}

/** Key of an instance in `status.jobs`. */
export const instanceKey = (job: string, index: number): string => `${job}.${index}`;

const tooMany = (count: number): Instances =>
  failed(
    `there are ${count > 100_000 ? "far too many" : count} combinations, more than ${maxInstances}`,
    [],
    "Take some away, or split the job.",
  );

const isMap = (value: unknown): value is Values => typeof value === "object" && value !== null && !Array.isArray(value);

function combinations(lists: readonly (readonly [key: string, values: readonly unknown[]])[]): Values[] {
  if (lists.length === 0) return [];
  let rows: Values[] = [{}];
  for (const [key, values] of lists) rows = rows.flatMap((row) => values.map((value) => ({ ...row, [key]: value })));
  return rows;
}

/** Whether the row has all members of the part with equal values; members of objects may be named in part, too. */
function contains(row: unknown, part: unknown): boolean {
  if (!isMap(part) || !isMap(row)) return jsonEqual(row, part);
  return Object.entries(part).every(([key, value]) => Object.hasOwn(row, key) && contains(row[key], value));
}

/**
 * Adds each map to all combinations of the lists whose own values it does not change; one that fits nowhere is a combination of its
 * own. Values that an earlier map added may be changed.
 */
function included(rows: readonly Values[], include: readonly Values[], axes: Values): Values[] {
  const extended = rows.map((row) => ({ original: row, row }));
  const extra: Values[] = [];
  for (const added of include) {
    const own = Object.keys(added).filter((key) => Object.hasOwn(axes, key));
    const fits = extended.filter(({ original }) => own.every((key) => jsonEqual(original[key], added[key])));
    if (fits.length === 0) extra.push(added);
    for (const one of fits) one.row = { ...one.row, ...added };
  }
  return [...extended.map(({ row }) => row), ...extra];
}

/** The plan of a job, or of the job that an instance of a matrix belongs to. */
export function planOf({ jobs }: Pick<WorkflowPlan, "jobs">, id: string): JobPlan | undefined {
  return jobs.get(id) ?? jobs.get(id.slice(0, Math.max(0, id.lastIndexOf("."))));
}
