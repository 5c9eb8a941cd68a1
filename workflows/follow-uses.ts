import type { WorkflowSpec } from "#api/kinds/workflow.ts";
import { finish, type Work } from "#api/work.ts";
import { usedBy } from "./collect-templates.ts";
import { compilingAction } from "./compile-action.ts";
import type { ActionPlan, Compiled, Templates, Where, WorkflowPlan } from "./plan.ts";
import { maxLevels, type Used, type Uses } from "./uses.ts";

/**
 * Looks up and compiles what is used, each once.
 *
 * @param compile a Workflow that uses what `uses` finds
 * @param absent the answer for what is not there; default an error
 */
export function following(
  where: Where,
  compile: (spec: WorkflowSpec, where: Where, uses: Uses) => Work<Compiled<WorkflowPlan>>,
  absent?: Used<never>,
): Uses {
  const { templates } = where;
  const missing = (kind: "Action" | "Workflow", name: string): Used<never> =>
    absent ?? {
      kind: "wrong",
      message: `there is no ${kind} "${name}"`,
      advice: "Create it, or correct the name.",
    };
  function* action(name: string): Work<Used<ActionPlan>> {
    const spec = templates?.action(name);
    if (spec === undefined) return missing("Action", name);
    return usedPlan(`Action "${name}"`, yield* compilingAction(spec));
  }
  function* workflow(name: string): Work<Used<WorkflowPlan>> {
    const spec = templates?.workflow(name);
    if (templates === undefined || spec === undefined) return missing("Workflow", name);
    const trouble = tangled(name, templates);
    return trouble ?? usedPlan(`Workflow "${name}"`, yield* compile(spec, { ...where, path: "spec" }, uses));
  }
  const [actions, workflows] = [new Once(action), new Once(workflow)];
  const uses: Uses = {
    action: (name) => finish(actions.find(name)),
    workflow: (name) => finish(workflows.find(name)),
    *prepare(jobs) {
      const used = usedBy(jobs);
      for (const name of used.actions) yield* actions.find(name);
      for (const name of used.workflows) yield* workflows.find(name);
    },
  };
  return uses;
}

/** Remembers what was found. */
class Once<T> {
  readonly #found = new Map<string, T>();
  readonly #search: (name: string) => Work<T>;

  constructor(search: (name: string) => Work<T>) {
    this.#search = search;
  }

  *find(name: string): Work<T> {
    const known = this.#found.get(name) ?? (yield* this.#search(name));
    this.#found.set(name, known);
    return known;
  }
}

interface Way {
  readonly names: readonly string[];
  /** Whether the last name stands before, too. */
  readonly circle: boolean;
}

/** Why Workflows that begin to use each other at `name` never come to an end, or go too deep. */
function tangled(name: string, templates: Templates): Used<never> | undefined {
  const deepest = new Map<string, Way>();
  const trail: string[] = [];
  /** The longest way down from a Workflow, itself included; one that comes back to where it was wins over all others. */
  const longest = (from: string): Way => {
    const known = deepest.get(from);
    if (known !== undefined) return known;
    if (trail.includes(from)) return { names: [from], circle: true };
    trail.push(from);
    const below = usedBy(templates.workflow(from)?.jobs ?? {}).workflows.map(longest);
    trail.pop();
    const next = below.find(({ circle }) => circle) ?? below.toSorted((a, b) => b.names.length - a.names.length)[0];
    const way = { names: [from, ...(next?.names ?? [])], circle: next?.circle ?? false };
    deepest.set(from, way);
    return way;
  };
  const { names: way, circle } = longest(name);
  if (circle) {
    const message = `Workflows use each other in a circle: ${way.slice(way.indexOf(way.at(-1) ?? "")).join(" -> ")}`;
    return { kind: "wrong", message, advice: "Take one of these uses away." };
  }
  if (way.length < maxLevels) return undefined;
  const message = `Workflows use each other more than ${maxLevels} levels deep: ${way.join(" -> ")}`;
  return { kind: "wrong", message, advice: "Write the jobs of the innermost one where they are used." };
}

/** What compiling a template came to, as the answer to `uses`. */
function usedPlan<Plan>(what: string, compiled: Compiled<Plan>): Used<Plan> {
  if (compiled.ok) return { kind: "plan", plan: compiled.plan };
  const [first] = compiled.errors;
  const more = compiled.errors.length > 1 ? ` (and ${compiled.errors.length - 1} more)` : "";
  // Its positions and excerpts are about another object.
  const message = `${what} is not valid: ${first?.path}: ${first?.message}${more}`;
  return { kind: "wrong", message, advice: `Correct ${what} first.` };
}
