import type { PersistentWorkspace } from "#api/kinds/persistent-workspace.ts";
import type { Runtime } from "#api/kinds/runtime.ts";
import type { Action, Workflow } from "#api/kinds/workflow.ts";
import type { WorkflowRun } from "#api/kinds/workflow-run.ts";
import type { KubeObject } from "#api/meta.ts";
import { actions, persistentWorkspaces, runtimes, workflowRuns, workflows } from "#api/resources.ts";
import type { Work } from "#api/work.ts";
import { type ControllerRevision, controllerRevisions } from "#kube/builtin.ts";
import { inSlices } from "#kube/in-slices.ts";
import { orNothing } from "#kube/or-nothing.ts";
import type { Clock } from "#kube/ports.ts";
import { type Client, pathOf, type ResourceType } from "#kube/resource.ts";
import type { ApiRequest } from "#kube/transport.ts";
import { type Access, reviewUse } from "./access-review.ts";
import type { Requester } from "./requester.ts";

/** What the rules look up; live, unless it says otherwise, since a cache may be behind the very object that is asked for. */
export interface Lookups {
  runtime(namespace: string, name: string): Promise<Runtime | undefined>;
  workspace(namespace: string, name: string): Promise<PersistentWorkspace | undefined>;
  workflowRun(namespace: string, name: string): Promise<WorkflowRun | undefined>;
  workflow(namespace: string, name: string): Promise<Workflow | undefined>;
  action(namespace: string, name: string): Promise<Action | undefined>;
  /** The frozen templates of a WorkflowRun, or what else has that name. */
  snapshot(namespace: string, name: string): Promise<ControllerRevision | undefined>;
  /**
   * As the API server remembers it, without asking its storage: mostly the present, now and then moments behind. No is no answer,
   * then: what is not there may only not be there yet.
   */
  recentWorkspace(namespace: string, name: string): Promise<PersistentWorkspace | undefined>;
  /** Likewise, and without its spec and status, which may be large. */
  recentWorkflowRun(namespace: string, name: string): Promise<KubeObject | undefined>;
  /** Does long work so that other requests go on meanwhile. */
  inSlices<T>(work: Work<T>): Promise<T>;
  /** Whether somebody has the right `use` on a workspace. */
  mayUse(requester: Requester, namespace: string, workspace: string): Promise<Access>;
}

/**
 * How long one lookup may take, in milliseconds. With the review, or another one, after it a decision takes at most 3.5 s: less than the 5 s that the
 * API server waits, so that the refusal is ours and says what took so long.
 */
export const lookupTimeoutMs = 1500;

/** What has no part but its metadata (meta.k8s.io/v1). */
const metadataOnly = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";

/** The version that an API server answers from its own memory (Kubernetes API concepts, resource versions of `get`). */
const remembered = { resourceVersion: "0" };

/** Looks up by the API, never in a cache of ours. */
export function liveLookups(client: () => Client, clock: Clock): Lookups {
  const read =
    <T extends KubeObject>(resource: ResourceType<T>, how: Pick<ApiRequest, "query" | "accept"> = {}) =>
    (namespace: string, name: string): Promise<T | undefined> => {
      const path = pathOf(resource, { namespace, name });
      return orNothing(client().transport.request<T>({ method: "GET", path, timeoutMs: lookupTimeoutMs, ...how }));
    };
  return {
    runtime: read(runtimes),
    workspace: read(persistentWorkspaces),
    workflowRun: read(workflowRuns),
    workflow: read(workflows),
    action: read(actions),
    snapshot: read(controllerRevisions),
    recentWorkspace: read(persistentWorkspaces, { query: remembered }),
    recentWorkflowRun: read<KubeObject>(workflowRuns, { query: remembered, accept: metadataOnly }),
    inSlices: (work) => inSlices(work, clock),
    mayUse: (requester, namespace, name) => reviewUse(client().transport, requester, { namespace, name }),
  };
}
