/** The inputs of a WorkflowRun: those of its spec, or those that a Retry gave it since. */
import type { FieldError } from "#api/field-error.ts";
import { jsonEqual } from "#api/json.ts";
import type { WorkflowRun } from "#api/kinds/workflow-run.ts";
import { invalid } from "#api/validation/rule.ts";
import { under } from "./field-error.ts";
import { type InputPlan, type InputsResult, type InputValue, inputValues } from "./inputs.ts";

type Given = Readonly<Record<string, unknown>>;

/** What a WorkflowRun was given, by name. All that reads its inputs takes them from here. */
const givenInputs = ({ spec, status }: Pick<WorkflowRun, "spec" | "status">): Given =>
  status?.inputs ?? spec.inputs ?? {};

/** The context `inputs` of a WorkflowRun. */
export function inputsOfRun(inputs: ReadonlyMap<string, InputPlan>, run: WorkflowRun): InputsResult {
  return inputValues(inputs, givenInputs(run), usedBy(run), "spec.inputs");
}

export type Override =
  | {
      readonly ok: true;
      /** What the WorkflowRun is given from now on. */
      readonly given: Given;
      /** The context `inputs` from now on. */
      readonly values: Readonly<Record<string, InputValue>>;
      /** Names of the inputs whose values are others than before. */
      readonly changed: ReadonlySet<string>;
    }
  | { readonly ok: false; readonly errors: readonly FieldError[] };

/**
 * Gives a WorkflowRun other values for some of its inputs.
 *
 * @param inputs as its Workflow declares them
 * @param path of the overrides, for messages
 */
export function overrideInputs(
  inputs: ReadonlyMap<string, InputPlan>,
  run: WorkflowRun,
  overrides: Given,
  path: string,
): Override {
  if (run.spec.workflowRef === undefined) {
    const message = `WorkflowRun "${run.metadata.name}" has jobs of its own, which have no inputs`;
    const advice = "Leave inputs out, or create a WorkflowRun of a Workflow.";
    const errors = Object.keys(overrides).map((name) => invalid(under(path, name), message, advice));
    return errors.length > 0 ? { ok: false, errors } : { ok: true, given: {}, values: {}, changed: new Set() };
  }
  const before = inputsOfRun(inputs, run);
  const after = inputValues(inputs, { ...givenInputs(run), ...overrides }, usedBy(run), path);
  if (!after.ok) return after;
  const { values } = after;
  const typed = Object.keys(overrides).map((name) => [name, values[name]] as const);
  const given = { ...givenInputs(run), ...Object.fromEntries(typed) };
  const old = before.ok ? before.values : {};
  const changed = new Set(Object.keys(values).filter((name) => !jsonEqual(old[name], values[name])));
  return { ok: true, given, values, changed };
}

const usedBy = ({ spec }: WorkflowRun): string => `Workflow "${spec.workflowRef?.name ?? ""}"`;
