import type { PersistentWorkspace } from "./kinds/persistent-workspace.ts";
import type { Run } from "./kinds/run.ts";
import type { Runtime } from "./kinds/runtime.ts";
import type { Action, Workflow } from "./kinds/workflow.ts";
import type { WorkflowAction } from "./kinds/workflow-action.ts";
import type { WorkflowRun } from "./kinds/workflow-run.ts";
import { group, version } from "./labels.ts";
import type { KubeObject } from "./meta.ts";

/** What must be known of one of our kinds to address it; structurally a `ResourceType` of the client layer. */
export interface OwnResource<T extends KubeObject> {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly namespaced: true;
  /** Carries the object type; never set. */
  readonly type?: T;
}

const own = <T extends KubeObject>(kind: string, plural: string): OwnResource<T> => ({
  group,
  version,
  kind,
  plural,
  namespaced: true,
});

export const runs = own<Run>("Run", "runs");
export const runtimes = own<Runtime>("Runtime", "runtimes");
export const persistentWorkspaces = own<PersistentWorkspace>("PersistentWorkspace", "persistentworkspaces");
export const workflows = own<Workflow>("Workflow", "workflows");
export const actions = own<Action>("Action", "actions");
export const workflowRuns = own<WorkflowRun>("WorkflowRun", "workflowruns");
export const workflowActions = own<WorkflowAction>("WorkflowAction", "workflowactions");
