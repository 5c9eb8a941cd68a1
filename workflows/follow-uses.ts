import type { WorkflowSpec } from "#api/kinds/workflow.ts";
import { usedBy } from "./collect-templates.ts";
import { compileAction } from "./compile-action.ts";
import type { Compiled, Templates, Where, WorkflowPlan } from "./plan.ts";
import { maxLevels, type Used, type Uses } from "./uses.ts";

/**
 * Looks up and compiles what is used, each once.
 *
 * @param compile a Workflow that uses what `uses` finds
 * @param absent the answer for what is not there; default an error
 */
export function following(
  where: Where,
  compile: (spec: WorkflowSpec, where: Where, uses: Uses) => Compiled<WorkflowPlan>,
  absent?: Used<never>,
): Uses {
  const { templates } = where;
  const missing = (kind: "Action" | "Workflow", name: string): Used<never> =>
    absent ?? {
      kind: "wrong",
      message: `there is no ${kind} "${name}"`,
      advice: "Create it, or correct the name.",
    };
  const uses: Uses = {
    action: once((name) => {
      const spec = templates?.action(name);
      return spec === undefined ? missing("Action", name) : usedPlan(`Action "${name}"`, compileAction(spec));
    }),
    workflow: once((name) => {
      const spec = templates?.workflow(name);
      if (templates === undefined || spec === undefined) return missing("Workflow", name);
      return (
        tangled(name, templates) ?? usedPlan(`Workflow "${name}"`, compile(spec, { ...where, path: "spec" }, uses))
      );
    }),
  };
  return uses;
}

function once<T>(find: (name: string) => T): (name: string) => T {
  const found = new Map<string, T>();
  return (name) => {
    const known = found.get(name) ?? find(name);
    found.set(name, known);
    return known;
  };
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
