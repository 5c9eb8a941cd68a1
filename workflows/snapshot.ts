import { Ajv, type ValidateFunction } from "ajv";
import { ActionSpec, type Workflow, WorkflowSpec } from "#api/kinds/workflow.ts";
import type { WorkflowRun } from "#api/kinds/workflow-run.ts";
import { labels } from "#api/labels.ts";
import { labelValue, snapshotName } from "#api/names.ts";
import { workflowRuns } from "#api/resources.ts";
import { apiVersionOf, type ControllerRevision, controllerReference, controllerRevisions } from "#kube/builtin.ts";
import { isChildOf } from "./child-meta.ts";
import type { Collected } from "./collect-templates.ts";

/** A template as it was when a WorkflowRun took it. */
export interface FrozenTemplate<Spec> {
  readonly name: string;
  /** Which object of that name it was, and in which state. */
  readonly uid: string;
  readonly generation: number;
  readonly spec: Spec;
}

/** Everything that a WorkflowRun refers to, frozen: later edits of the templates do not reach a run that has begun. */
export interface Snapshot {
  /** The Workflow of `workflowRef`; absent where the WorkflowRun has jobs of its own. */
  readonly workflow?: FrozenTemplate<WorkflowSpec>;
  /** The Workflows that jobs use, directly and by others. */
  readonly workflows: readonly FrozenTemplate<WorkflowSpec>[];
  /** The Actions that steps use. */
  readonly actions: readonly FrozenTemplate<ActionSpec>[];
}

/** Form of the data; a reader refuses forms that it does not know. */
const format = 1;

/**
 * The object that keeps a snapshot; it lives as long as the WorkflowRun. The WorkflowRuns of jobs that are Workflows read it, too.
 *
 * @param workflow of `workflowRef`
 * @param used by it or by the jobs of the WorkflowRun
 */
export function snapshotOf(
  owner: WorkflowRun,
  workflow: Workflow | undefined,
  used: Collected = { workflows: [], actions: [] },
): ControllerRevision {
  const { name, namespace, uid = "" } = owner.metadata;
  const snapshot: Snapshot = {
    ...(workflow === undefined ? {} : { workflow: freeze(workflow) }),
    workflows: used.workflows.map(freeze),
    actions: used.actions.map(freeze),
  };
  return {
    apiVersion: apiVersionOf(controllerRevisions),
    kind: controllerRevisions.kind,
    metadata: {
      name: snapshotName(name, uid),
      ...(namespace === undefined ? {} : { namespace }),
      labels: {
        ...(workflow === undefined ? {} : { [labels.workflow]: labelValue(workflow.metadata.name) }),
        [labels.workflowRun]: labelValue(name),
        [labels.workflowRunUID]: uid,
        [labels.name]: "kruntimes",
        [labels.component]: "workflow-snapshot",
        [labels.instance]: labelValue(name),
        [labels.partOf]: "kruntimes",
        [labels.managedBy]: "kruntimes",
      },
      ownerReferences: [controllerReference(workflowRuns, owner)],
    },
    revision: 1,
    data: { format, ...snapshot },
  };
}

export type SnapshotResult =
  | { readonly ok: true; readonly snapshot: Snapshot }
  /** The object is somebody else's, or nothing that this version can read. */
  | { readonly ok: false; readonly message: string };

/** Reads a snapshot back. Its owner and its form are checked: a run must never execute what somebody else put in its place. */
export function readSnapshot(revision: ControllerRevision, owner: WorkflowRun): SnapshotResult {
  const { name } = revision.metadata;
  if (!isChildOf(revision, owner)) {
    return { ok: false, message: `ControllerRevision "${name}" belongs to somebody else` };
  }
  const { data } = revision;
  if (isSnapshot(data)) {
    // Snapshots from before Workflows could use each other have no `workflows`.
    const { workflow, workflows = [], actions } = data;
    return { ok: true, snapshot: { ...(workflow === undefined ? {} : { workflow }), workflows, actions } };
  }
  const errors = (validator().errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`);
  return {
    ok: false,
    message: `ControllerRevision "${name}" holds no snapshot that can be read: ${errors.slice(0, 3).join("; ")}`,
  };
}

function freeze<Spec>(template: { metadata: Workflow["metadata"]; spec: Spec }): FrozenTemplate<Spec> {
  const { name, uid = "", generation = 0 } = template.metadata;
  return { name, uid, generation, spec: template.spec };
}

type Stored = Omit<Snapshot, "workflows"> & Partial<Pick<Snapshot, "workflows">>;

function isSnapshot(data: unknown): data is Stored {
  return validator()(data);
}

let compiled: ValidateFunction | undefined;

/** Compiled at first use: few programs read snapshots. */
function validator(): ValidateFunction {
  compiled ??= new Ajv({ strict: false, validateFormats: false }).compile({
    type: "object",
    required: ["format", "actions"],
    properties: {
      format: { const: format },
      workflow: frozen(WorkflowSpec),
      workflows: { type: "array", items: frozen(WorkflowSpec) },
      actions: { type: "array", items: frozen(ActionSpec) },
    },
  });
  return compiled;
}

function frozen(spec: object): object {
  return {
    type: "object",
    required: ["name", "uid", "generation", "spec"],
    properties: { name: { type: "string" }, uid: { type: "string" }, generation: { type: "integer" }, spec },
  };
}
