import { duplicate, invalid } from "#api/validation/rule.ts";
import { type FieldError, listOf, under } from "./field-error.ts";

/** What the graph needs to know of a job. */
export interface GraphJob {
  readonly needs?: readonly string[] | undefined;
}

/** Which job waits for which. Ids are as the spec writes them. */
export interface JobGraph {
  /** All jobs so that each stands after the ones it needs; jobs that are free of each other in the order of the spec. */
  readonly order: readonly string[];
  /** Direct needs of each job. */
  readonly needs: ReadonlyMap<string, readonly string[]>;
  /** Jobs that name it in their needs. */
  readonly dependents: ReadonlyMap<string, readonly string[]>;
}

export interface GraphResult {
  /** With errors: the graph without the edges that are wrong, so that other checks can go on. */
  readonly graph: JobGraph;
  readonly errors: readonly FieldError[];
}

/**
 * The graph of `needs`. Errors: a need that is no job, is the job itself, stands there twice, or closes a cycle (the message
 * prints the way around).
 *
 * @param path of the map of jobs, e.g. `spec.jobs`
 */
export function buildGraph(jobs: Readonly<Record<string, GraphJob>>, path: string): GraphResult {
  const ids = Object.keys(jobs);
  const known = new Set(ids);
  const errors: FieldError[] = [];
  const needs = new Map<string, string[]>();
  for (const [id, job] of Object.entries(jobs)) {
    const direct: string[] = [];
    for (const [index, need] of (job.needs ?? []).entries()) {
      const error = checkNeed(under(path, id, "needs", index), id, need, direct, known);
      if (error === undefined) direct.push(need);
      else errors.push(error);
    }
    needs.set(id, direct);
  }
  for (const cycle of breakCycles(ids, needs)) {
    const last = cycle.at(-1) ?? "";
    const index = jobs[last]?.needs?.indexOf(cycle[0] ?? "") ?? 0;
    errors.push(
      invalid(
        under(path, last, "needs", index),
        `jobs wait for each other: ${[...cycle, cycle[0]].join(" -> ")}`,
        "Take one of these needs away; a job can only wait for jobs that do not wait for it.",
      ),
    );
  }
  const dependents = new Map<string, string[]>(ids.map((id) => [id, []]));
  for (const [id, direct] of needs) for (const need of direct) dependents.get(need)?.push(id);
  return { graph: { order: sort(ids, needs, dependents), needs, dependents }, errors };
}

function checkNeed(
  path: string,
  id: string,
  need: string,
  earlier: readonly string[],
  known: ReadonlySet<string>,
): FieldError | undefined {
  if (need === id) return invalid(path, `job "${id}" needs itself`, "Take it out of the list.");
  if (!known.has(need)) {
    const others = [...known].filter((other) => other !== id);
    return invalid(path, `there is no job "${need}"`, `Other jobs: ${listOf(others)}.`);
  }
  return earlier.includes(need) ? duplicate(path, `"${need}" is listed twice`, "List each job once.") : undefined;
}

/**
 * Finds cycles and takes the edge out of `needs` that closes each. A cycle is given in the order of needing: each job needs the
 * next one, and the last needs the first.
 */
function breakCycles(ids: readonly string[], needs: Map<string, string[]>): string[][] {
  const cycles: string[][] = [];
  const done = new Set<string>();
  const trail: string[] = [];
  const visit = (id: string): void => {
    trail.push(id);
    for (const need of [...(needs.get(id) ?? [])]) {
      const start = trail.indexOf(need);
      if (start >= 0) {
        cycles.push(trail.slice(start));
        needs.set(
          id,
          (needs.get(id) ?? []).filter((other) => other !== need),
        );
      } else if (!done.has(need)) visit(need);
    }
    trail.pop();
    done.add(id);
  };
  for (const id of ids) if (!done.has(id)) visit(id);
  return cycles;
}

function sort(
  ids: readonly string[],
  needs: ReadonlyMap<string, readonly string[]>,
  dependents: ReadonlyMap<string, readonly string[]>,
): string[] {
  const position = new Map(ids.map((id, index) => [id, index]));
  const open = new Map(ids.map((id) => [id, needs.get(id)?.length ?? 0]));
  const ready = ids.filter((id) => open.get(id) === 0);
  const order: string[] = [];
  for (let id = ready.shift(); id !== undefined; id = ready.shift()) {
    order.push(id);
    const freed = (dependents.get(id) ?? []).filter((dependent) => {
      const left = (open.get(dependent) ?? 0) - 1;
      open.set(dependent, left);
      return left === 0;
    });
    ready.push(...freed);
    ready.sort((a, b) => (position.get(a) ?? 0) - (position.get(b) ?? 0));
  }
  return order;
}
