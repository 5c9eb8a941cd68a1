import { formatFieldError } from "#api/field-error.ts";
import type { Workflow } from "#api/kinds/workflow.ts";
import { workflows } from "#api/resources.ts";
import { compileInputs, type InputValue, inputValues } from "#workflows/inputs.ts";
import { suggestion } from "../closest.ts";
import { CliError } from "../errors.ts";
import { member } from "../manifests/members.ts";
import type { Execution, Plan } from "../manifests/plan.ts";

/** `NAME=VALUE` of the command line. */
export type Given = Readonly<Record<string, string>>;

/**
 * The given texts as the Workflow declares its inputs: numbers and truth values as such.
 *
 * @param before inputs that are there already, e.g. in the file; what is given wins
 * @throws CliError naming everything that does not fit
 */
export function typedInputs(
  { metadata, spec }: Pick<Workflow, "metadata" | "spec">,
  given: Given,
  before: Readonly<Record<string, unknown>> = {},
): Record<string, unknown> {
  const { inputs } = compileInputs(spec.inputs, "spec.inputs");
  const used = `Workflow ${metadata.name}`;
  const wanted = { ...before, ...given };
  const result = inputValues(inputs, wanted, used, "inputs");
  if (!result.ok) {
    const unknown = Object.keys(given).find((name) => !inputs.has(name));
    const advice = unknown === undefined ? undefined : suggestion(unknown, inputs.keys());
    throw new CliError(`the inputs do not fit ${used}`, {
      details: result.errors.map((error) => formatFieldError(error).replace(/^inputs[.[]?/, "")),
      ...(advice === undefined ? {} : { advice }),
    });
  }
  const typed = (name: string): [string, unknown] => [name, result.values[name] satisfies InputValue | undefined];
  // Defaults are left to the cluster, which has the Workflow that is run.
  return { ...before, ...Object.fromEntries(Object.keys(given).map(typed)) };
}

/**
 * A plan whose WorkflowRuns get the given inputs.
 *
 * @throws CliError when no WorkflowRun of a Workflow of the files is there to get them, or they do not fit
 */
export function withInputs(plan: Plan, given: Given): Plan {
  if (Object.keys(given).length === 0) return plan;
  let set = 0;
  const executions = plan.executions.map((execution): Execution => {
    const workflow = execution.kind === "WorkflowRun" ? workflowOf(plan, execution) : undefined;
    if (execution.kind !== "WorkflowRun" || workflow === undefined) return execution;
    set++;
    const { object } = execution;
    const inputs = typedInputs(workflow, given, object.spec.inputs ?? {});
    return { ...execution, object: { ...object, spec: { ...object.spec, inputs } } };
  });
  if (set > 0) return { ...plan, executions };
  throw new CliError("--set is for Workflows, and the files run none", {
    advice: "Name a file with the Workflow, or write the values into the file.",
  });
}

function workflowOf(plan: Plan, { object }: Execution & { kind: "WorkflowRun" }): Workflow | undefined {
  const name = member(object.spec, "workflowRef", "name");
  const found = plan.definitions.find(
    (manifest) =>
      manifest.resource.kind === workflows.kind &&
      manifest.object.metadata.name === name &&
      manifest.object.metadata.namespace === object.metadata.namespace,
  );
  // The API server judges its form; declarations that are wrong there are refused by it.
  return found?.object as unknown as Workflow | undefined;
}
