import type { PersistentWorkspace } from "#api/kinds/persistent-workspace.ts";
import type { Runtime } from "#api/kinds/runtime.ts";
import type { Action, Workflow } from "#api/kinds/workflow.ts";
import type { WorkflowRun } from "#api/kinds/workflow-run.ts";
import type { KubeObject } from "#api/meta.ts";
import { actions, persistentWorkspaces, runtimes, workflowRuns, workflows } from "#api/resources.ts";
import { type ControllerRevision, controllerRevisions } from "#kube/builtin.ts";
import { orNothing } from "#kube/or-nothing.ts";
import { type Client, pathOf, type ResourceType } from "#kube/resource.ts";
import { type Access, reviewUse } from "./access-review.ts";
import type { Requester } from "./requester.ts";

/** What the rules look up; always live, since a cache may be behind the very object that is asked for. */
export interface Lookups {
  runtime(namespace: string, name: string): Promise<Runtime | undefined>;
  workspace(namespace: string, name: string): Promise<PersistentWorkspace | undefined>;
  workflowRun(namespace: string, name: string): Promise<WorkflowRun | undefined>;
  workflow(namespace: string, name: string): Promise<Workflow | undefined>;
  action(namespace: string, name: string): Promise<Action | undefined>;
  /** The frozen templates of a WorkflowRun, or what else has that name. */
  snapshot(namespace: string, name: string): Promise<ControllerRevision | undefined>;
  /** Whether somebody has the right `use` on a workspace. */
  mayUse(requester: Requester, namespace: string, workspace: string): Promise<Access>;
}

/**
 * How long one lookup may take, in milliseconds. With the review after it a decision takes at most 3.5 s: less than the 5 s that the
 * API server waits, so that the refusal is ours and says what took so long.
 */
export const lookupTimeoutMs = 1500;

/** Looks up by the API, never in a cache. */
export function liveLookups(client: () => Client): Lookups {
  const read =
    <T extends KubeObject>(resource: ResourceType<T>) =>
    (namespace: string, name: string): Promise<T | undefined> => {
      const path = pathOf(resource, { namespace, name });
      return orNothing(client().transport.request<T>({ method: "GET", path, timeoutMs: lookupTimeoutMs }));
    };
  return {
    runtime: read(runtimes),
    workspace: read(persistentWorkspaces),
    workflowRun: read(workflowRuns),
    workflow: read(workflows),
    action: read(actions),
    snapshot: read(controllerRevisions),
    mayUse: (requester, namespace, name) => reviewUse(client().transport, requester, { namespace, name }),
  };
}
