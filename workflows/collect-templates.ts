import { jsonBytes } from "#api/json.ts";
import type { JobSpec } from "#api/kinds/job.ts";
import type { Action, ActionSpec, Workflow, WorkflowSpec } from "#api/kinds/workflow.ts";
import { invalid, tooLong } from "#api/validation/rule.ts";
import type { FieldError } from "./field-error.ts";
import type { Templates } from "./plan.ts";

type Jobs = Readonly<Record<string, Pick<JobSpec, "uses" | "steps">>>;

/** Most templates that a workflow may use, directly and by others. */
export const maxTemplates = 100;

/** Most bytes of all of them as JSON: they are frozen into one object. */
export const maxTemplateBytes = 1024 * 1024;

/** Where templates are looked up by name. */
export interface TemplateFinder {
  workflow(name: string): Promise<Workflow | undefined>;
  action(name: string): Promise<Action | undefined>;
}

export interface Collected {
  readonly workflows: readonly Workflow[];
  readonly actions: readonly Action[];
}

/** Names that jobs and steps use, each once. */
export function usedBy(jobs: Jobs): { readonly workflows: readonly string[]; readonly actions: readonly string[] } {
  const all = Object.values(jobs);
  const workflows = all.flatMap((job) => job.uses ?? []);
  const actions = all.flatMap((job) => (job.steps ?? []).flatMap((step) => step.uses ?? []));
  return { workflows: [...new Set(workflows)], actions: [...new Set(actions)] };
}

export type CollectResult = ({ readonly ok: true } & Collected) | { readonly ok: false; readonly errors: FieldError[] };

/**
 * Looks up everything that jobs use, directly and by the Workflows that they use. What is not there is left out: compiling says where it
 * is missed.
 *
 * @param path of the jobs
 */
export async function collectTemplates(jobs: Jobs, find: TemplateFinder, path: string): Promise<CollectResult> {
  const workflows = new Map<string, Workflow | undefined>();
  const actions = new Map<string, Action | undefined>();
  const open = [usedBy(jobs)];
  for (let names = open.shift(); names !== undefined; names = open.shift()) {
    for (const name of names.actions) {
      if (!actions.has(name)) actions.set(name, await find.action(name));
    }
    for (const name of names.workflows) {
      if (workflows.has(name)) continue;
      const workflow = await find.workflow(name);
      workflows.set(name, workflow);
      if (workflow !== undefined) open.push(usedBy(workflow.spec.jobs));
    }
    if (workflows.size + actions.size > maxTemplates) {
      const message = `more than ${maxTemplates} Workflows and Actions are used, directly and by others`;
      return { ok: false, errors: [invalid(path, message, "Split the workflow.")] };
    }
  }
  const found = { workflows: present(workflows.values()), actions: present(actions.values()) };
  const bytes = [...found.workflows, ...found.actions].reduce((sum, { spec }) => sum + jsonBytes(spec), 0);
  if (bytes <= maxTemplateBytes) return { ok: true, ...found };
  const message = `the Workflows and Actions that are used have ${bytes} bytes together, more than ${maxTemplateBytes}`;
  return { ok: false, errors: [tooLong(path, message, "Split the workflow.")] };
}

function present<T>(values: Iterable<T | undefined>): T[] {
  return [...values].filter((value) => value !== undefined);
}

/** Templates as the compiler looks them up. */
export function templatesIn(found: {
  readonly workflows: Iterable<Named<WorkflowSpec>>;
  readonly actions: Iterable<Named<ActionSpec>>;
}): Templates {
  const workflows = new Map([...found.workflows].map(({ name, spec }) => [name, spec]));
  const actions = new Map([...found.actions].map(({ name, spec }) => [name, spec]));
  return { workflow: (name) => workflows.get(name), action: (name) => actions.get(name) };
}

interface Named<Spec> {
  readonly name: string;
  readonly spec: Spec;
}

/** The same for objects. */
export function templatesOf({ workflows, actions }: Collected): Templates {
  return templatesIn({ workflows: workflows.map(named), actions: actions.map(named) });
}

const named = <Spec>({ metadata, spec }: { metadata: { name: string }; spec: Spec }) => ({ name: metadata.name, spec });
