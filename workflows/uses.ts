import type { JobSpec } from "#api/kinds/job.ts";
import { invalid } from "#api/validation/rule.ts";
import type { Work } from "#api/work.ts";
import type { FieldError } from "./field-error.ts";
import type { ActionPlan, WorkflowPlan } from "./plan.ts";

/**
 * Levels of Workflows that use each other, the one at the top included. Each level is a WorkflowRun of its own, which somebody has to
 * find their way through.
 */
export const maxLevels = 4;

/** What came of a name after `uses`. */
export type Used<Plan> =
  | { readonly kind: "plan"; readonly plan: Plan }
  /** Nobody looked: what is used may come later. */
  | { readonly kind: "unchecked" }
  | { readonly kind: "wrong"; readonly message: string; readonly advice: string };

/** Finds what jobs and steps use. */
export interface Uses {
  action(name: string): Used<ActionPlan>;
  workflow(name: string): Used<WorkflowPlan>;
  /** Compiles all that jobs use, step by step, so that the answers are there when they are asked for. */
  prepare(jobs: Readonly<Record<string, JobSpec>>): Work<void>;
}

/** For steps that use nothing: those of Actions. */
export const unchecked: Uses = {
  action: () => ({ kind: "unchecked" }),
  workflow: () => ({ kind: "unchecked" }),
  *prepare() {},
};

/** The error of a `uses` that leads nowhere, if it does. */
export function useErrors(used: Used<unknown>, path: string): FieldError[] {
  return used.kind === "wrong" ? [invalid(path, used.message, used.advice)] : [];
}
