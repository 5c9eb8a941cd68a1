import { type Kind, kinds } from "#api/crd/kinds.ts";
import type { FieldError } from "#api/field-error.ts";
import { jsonEqual } from "#api/json.ts";
import type { PersistentWorkspace } from "#api/kinds/persistent-workspace.ts";
import type { Run } from "#api/kinds/run.ts";
import type { Runtime } from "#api/kinds/runtime.ts";
import type { Action, Workflow } from "#api/kinds/workflow.ts";
import type { WorkflowRun } from "#api/kinds/workflow-run.ts";
import type { KubeObject } from "#api/meta.ts";
import { validateCreate, validateUpdate } from "#api/validation/index.ts";
import { compileAction, workflowErrors } from "#workflows/compile-workflow.ts";
import { runtimeErrors } from "./run-runtime.ts";
import { workflowRunErrors } from "./workflow-run.ts";

/** A request to write an object of ours, after its schema was checked. */
export interface Review {
  readonly operation: "CREATE" | "UPDATE";
  readonly kind: Kind;
  readonly namespace: string;
  readonly object: KubeObject;
  /** Present for UPDATE. */
  readonly oldObject?: KubeObject;
}

/** What the rules look up; always live, since a cache may be behind the very object that is asked for. */
export interface Lookups {
  workspace(namespace: string, name: string): Promise<PersistentWorkspace | undefined>;
  runtime(namespace: string, name: string): Promise<Runtime | undefined>;
  workflow(namespace: string, name: string): Promise<Workflow | undefined>;
  action(namespace: string, name: string): Promise<Action | undefined>;
}

/** Whether that is one of our kinds, whose objects {@link review} can judge. */
export const isOwnKind = (kind: string): kind is Kind => Object.hasOwn(kinds, kind);

/** Everything that speaks against the request; empty when it is admitted. */
export async function review(request: Review, lookups: Lookups): Promise<readonly FieldError[]> {
  const { operation, kind, object, oldObject } = request;
  if (operation === "UPDATE") {
    if (oldObject === undefined) return [];
    return [...validateUpdate(kind, oldObject, object), ...newCompileErrors(kind, oldObject, object)];
  }
  const errors = validateCreate(kind, object);
  // What is refused by name already would only be refused again, in other words, by the compiler.
  if (errors.length > 0) return errors;
  return [
    ...compileErrors(kind, object),
    ...(kind === "WorkflowRun" ? await workflowRunErrors(object as WorkflowRun, request.namespace, lookups) : []),
    ...(await workspaceErrors(request, lookups)),
    ...(kind === "Run" ? await runtimeErrors(object as Run, request.namespace, lookups) : []),
  ];
}

/** What a change of a template makes wrong; what was wrong before is not held against it. */
function newCompileErrors(kind: Kind, old: KubeObject, object: KubeObject): readonly FieldError[] {
  if (kind !== "Workflow" && kind !== "Action") return [];
  if (jsonEqual((old as Workflow | Action).spec, (object as Workflow | Action).spec)) return [];
  const before = compileErrors(kind, old);
  // Messages name what there is instead, which the change may be about.
  const isOld = ({ path, type }: FieldError) => before.some((was) => was.path === path && was.type === type);
  return compileErrors(kind, object).filter((error) => !isOld(error));
}

function compileErrors(kind: Kind, object: KubeObject): readonly FieldError[] {
  switch (kind) {
    case "Workflow":
      return workflowErrors((object as Workflow).spec);
    case "Action":
      return errorsOf(compileAction((object as Action).spec));
    default:
      return [];
  }
}

const errorsOf = (compiled: { ok: true } | { ok: false; errors: readonly FieldError[] }) =>
  compiled.ok ? [] : compiled.errors;

/** A workspace must be there before the Run that refers to it, and belong to the same Runtime. */
async function workspaceErrors({ kind, namespace, object }: Review, lookups: Lookups): Promise<FieldError[]> {
  const { spec } = object as Run;
  if (kind !== "Run" || spec.workspace === undefined) return [];
  const { name } = spec.workspace;
  const workspace = await lookups.workspace(namespace, name);
  const refuse = (message: string, advice: string): FieldError[] => [
    { path: "spec.workspace.name", message, advice, type: "FieldValueInvalid" },
  ];
  if (workspace === undefined) {
    return refuse(`there is no PersistentWorkspace ${name} in namespace ${namespace}`, "Create it before the Run.");
  }
  if (workspace.spec.runtime !== spec.runtime) {
    const message = `workspace ${name} belongs to Runtime ${workspace.spec.runtime}, the Run asks for ${spec.runtime}`;
    return refuse(message, "Use the Runtime of the workspace, or another workspace.");
  }
  return [];
}
