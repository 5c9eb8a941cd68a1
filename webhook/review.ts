import { type Kind, kinds } from "#api/crd/kinds.ts";
import type { FieldError } from "#api/field-error.ts";
import { jsonEqual } from "#api/json.ts";
import type { Run } from "#api/kinds/run.ts";
import type { Action, Workflow } from "#api/kinds/workflow.ts";
import type { WorkflowAction } from "#api/kinds/workflow-action.ts";
import type { WorkflowRun } from "#api/kinds/workflow-run.ts";
import type { KubeObject } from "#api/meta.ts";
import { validateCreate, validateUpdate } from "#api/validation/index.ts";
import { compilingAction, findingErrors } from "#workflows/compile-workflow.ts";
import { usageWarnings } from "./live-templates.ts";
import type { Lookups } from "./lookups.ts";
import type { Requester } from "./requester.ts";
import { runtimeErrors } from "./run-runtime.ts";
import { admitted, type Verdict, verdictOf } from "./verdict.ts";
import { workflowActionErrors } from "./workflow-action.ts";
import { workflowRunErrors } from "./workflow-run.ts";
import { judgeUse } from "./workspace-permission.ts";

/** A request to write an object of ours, after its schema was checked. */
export interface Review {
  readonly operation: "CREATE" | "UPDATE";
  readonly kind: Kind;
  readonly namespace: string;
  readonly object: KubeObject;
  /** Present for UPDATE. */
  readonly oldObject?: KubeObject;
  /** Absent when the request does not say who asks. */
  readonly requester?: Requester;
}

/** What a decision needs beside the request. */
export interface ReviewDeps {
  readonly lookups: Lookups;
  /** User name of the controller, whose child Runs use the workspaces of their jobs without a review. */
  readonly controller: string;
}

/** Whether that is one of our kinds, whose objects {@link review} can judge. */
export const isOwnKind = (kind: string): kind is Kind => Object.hasOwn(kinds, kind);

/** Judges a request. What is wrong with the object itself comes first: then nothing has to be looked up. */
export async function review(request: Review, deps: ReviewDeps): Promise<Verdict> {
  const { operation, kind, object, oldObject } = request;
  if (operation === "UPDATE") {
    // Nobody can tell what may not change.
    if (oldObject === undefined) return { kind: "undecided", message: `the UPDATE of a ${kind} has no oldObject` };
    const errors = validateUpdate(kind, oldObject, object);
    if (errors.length === 0) errors.push(...(await newCompileErrors(kind, oldObject, object, deps.lookups)));
    return errors.length > 0 ? verdictOf(errors) : withReferences(request, deps.lookups);
  }
  const errors = validateCreate(kind, object);
  // What is refused by name already would only be refused again, in other words, by the compiler.
  if (errors.length === 0) errors.push(...(await compileErrors(kind, object, deps.lookups)));
  if (errors.length > 0) return verdictOf(errors);
  if (kind !== "Run") return withReferences(request, deps.lookups);
  return judgeRun(request.namespace, object as Run, request.requester, deps);
}

/** Both questions at once: each has its time, and the API server waits for the slower one only. */
async function judgeRun(
  namespace: string,
  run: Run,
  requester: Requester | undefined,
  { lookups, controller }: ReviewDeps,
): Promise<Verdict> {
  const [use, errors] = await Promise.all([
    run.spec.workspace === undefined ? admitted : judgeUse({ namespace, run, requester }, lookups, controller),
    runtimeErrors(run, namespace, lookups),
  ]);
  if (use.kind === "admitted") return verdictOf(errors);
  return use.kind === "invalid" ? verdictOf([...use.errors, ...errors]) : use;
}

/** What is referred to: a WorkflowRun needs it now, a template some time; the inputs of a Retry are declared there. */
async function withReferences(request: Review, lookups: Lookups): Promise<Verdict> {
  const { operation, kind, namespace, object, oldObject } = request;
  if (kind === "Workflow") {
    const { spec } = object as Workflow;
    if (oldObject !== undefined && jsonEqual((oldObject as Workflow).spec, spec)) return admitted;
    return verdictOf([], await usageWarnings(spec, namespace, lookups));
  }
  // What a WorkflowRun refers to cannot change, and is frozen.
  if (operation === "UPDATE") return admitted;
  if (kind === "WorkflowAction")
    return verdictOf(await workflowActionErrors(object as WorkflowAction, namespace, lookups));
  if (kind !== "WorkflowRun") return admitted;
  return verdictOf(await workflowRunErrors(object as WorkflowRun, namespace, lookups));
}

/** What a change of a template makes wrong; what was wrong before is not held against it. */
async function newCompileErrors(
  kind: Kind,
  old: KubeObject,
  object: KubeObject,
  lookups: Lookups,
): Promise<readonly FieldError[]> {
  if (kind !== "Workflow" && kind !== "Action") return [];
  if (jsonEqual((old as Workflow | Action).spec, (object as Workflow | Action).spec)) return [];
  const before = await compileErrors(kind, old, lookups);
  // Messages name what there is instead, which the change may be about.
  const isOld = ({ path, type }: FieldError) => before.some((was) => was.path === path && was.type === type);
  return (await compileErrors(kind, object, lookups)).filter((error) => !isOld(error));
}

async function compileErrors(kind: Kind, object: KubeObject, lookups: Lookups): Promise<readonly FieldError[]> {
  switch (kind) {
    case "Workflow":
      return lookups.inSlices(findingErrors((object as Workflow).spec));
    case "WorkflowRun": {
      const { jobs } = (object as WorkflowRun).spec;
      return jobs === undefined ? [] : lookups.inSlices(findingErrors({ jobs }));
    }
    case "Action":
      return errorsOf(await lookups.inSlices(compilingAction((object as Action).spec)));
    default:
      return [];
  }
}

const errorsOf = (compiled: { ok: true } | { ok: false; errors: readonly FieldError[] }) =>
  compiled.ok ? [] : compiled.errors;
