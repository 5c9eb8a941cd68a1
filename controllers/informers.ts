import type { PersistentWorkspace } from "#api/kinds/persistent-workspace.ts";
import type { Run } from "#api/kinds/run.ts";
import type { Runtime } from "#api/kinds/runtime.ts";
import type { Action, Workflow } from "#api/kinds/workflow.ts";
import type { WorkflowAction } from "#api/kinds/workflow-action.ts";
import type { WorkflowRun } from "#api/kinds/workflow-run.ts";
import { labels } from "#api/labels.ts";
import type { KubeObject } from "#api/meta.ts";
import {
  actions,
  persistentWorkspaces,
  runs,
  runtimes,
  workflowActions,
  workflowRuns,
  workflows,
} from "#api/resources.ts";
import { isTerminal } from "#api/runs.ts";
import { type Pod, pods, type ReplicaSet, replicaSets } from "#kube/builtin.ts";
import { createInformer, type Informer } from "#kube/informer.ts";
import type { Clock, Logger, Random, Recorder } from "#kube/ports.ts";
import type { Client } from "#kube/resource.ts";
import { usedBy } from "#workflows/collect-templates.ts";
import type { Tally } from "./tally.ts";

export interface ControllerDeps {
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Told what users should see beside the objects; absent where nobody looks at Events. */
  readonly recorder?: Recorder;
  /** Counts what metrics show; absent where nobody scrapes. */
  readonly tally?: Tally;
}

/** The caches that the controllers of one process share. Values of indexes are `namespace/name`, owners are UIDs. */
export interface Informers {
  /** `pod` and `workspace` find the Runs that have not ended: of ended ones there may be very many. */
  readonly runs: Informer<Run, "pod" | "workspace" | "owner">;
  readonly runtimes: Informer<Runtime>;
  readonly workspaces: Informer<PersistentWorkspace, "pod" | "owner" | "runtime">;
  readonly workflowRuns: Informer<WorkflowRun, "owner" | "workflow">;
  /** `uses` has the kind before the name: `Action/namespace/name`. */
  readonly workflows: Informer<Workflow, "uses">;
  readonly workflowActions: Informer<WorkflowAction, "target">;
  readonly actions: Informer<Action>;
  readonly pods: Informer<Pod, "runtime" | "owner">;
  readonly replicaSets: Informer<ReplicaSet, "owner">;
}

/** UIDs of the controller owner; at most one. */
export const controllerOf = (object: KubeObject): string[] =>
  (object.metadata.ownerReferences ?? []).filter((reference) => reference.controller).map((reference) => reference.uid);

const inNamespace = (object: KubeObject, name: string | undefined): string[] =>
  name === undefined ? [] : [`${object.metadata.namespace}/${name}`];

function usesOf(workflow: Workflow): string[] {
  const used = usedBy(workflow.spec.jobs);
  const name = (kind: string) => (each: string) => `${kind}/${workflow.metadata.namespace}/${each}`;
  return [...used.workflows.map(name("Workflow")), ...used.actions.map(name("Action"))];
}

/** Makes the caches; they list and watch from {@link startInformers} on. */
export function createInformers(deps: ControllerDeps): Informers {
  const { client } = deps;
  const ofPools = { ...deps, labelSelector: labels.runtime };
  return {
    runs: createInformer(client, runs, {
      ...deps,
      transform: withoutProgram,
      indexes: {
        pod: (run) => (isTerminal(run.status?.phase) ? [] : inNamespace(run, run.status?.assignedPod)),
        workspace: (run) => (isTerminal(run.status?.phase) ? [] : inNamespace(run, run.spec.workspace?.name)),
        owner: controllerOf,
      },
    }),
    runtimes: createInformer(client, runtimes, deps),
    workspaces: createInformer(client, persistentWorkspaces, {
      ...deps,
      indexes: {
        pod: (workspace) => inNamespace(workspace, workspace.status?.boundPod),
        owner: controllerOf,
        runtime: (workspace) => inNamespace(workspace, workspace.spec.runtime),
      },
    }),
    workflowRuns: createInformer(client, workflowRuns, {
      ...deps,
      indexes: { owner: controllerOf, workflow: (run) => inNamespace(run, run.spec.workflowRef?.name) },
    }),
    workflows: createInformer(client, workflows, { ...deps, indexes: { uses: usesOf } }),
    workflowActions: createInformer(client, workflowActions, {
      ...deps,
      indexes: { target: (action) => inNamespace(action, action.spec.workflowRef.name) },
    }),
    actions: createInformer(client, actions, deps),
    pods: createInformer(client, pods, {
      ...ofPools,
      indexes: { runtime: (pod) => inNamespace(pod, pod.metadata.labels?.[labels.runtime]), owner: controllerOf },
    }),
    replicaSets: createInformer(client, replicaSets, { ...ofPools, indexes: { owner: controllerOf } }),
  };
}

/** Starts all caches and resolves when each has its first list. */
export async function startInformers(informers: Informers, signal: AbortSignal): Promise<void> {
  for (const informer of Object.values(informers)) informer.start(signal);
  await Promise.all(Object.values(informers).map((informer) => informer.whenSynced(signal)));
}

/** Script, arguments and environment are the bulk of a Run, and no controller reads them. */
function withoutProgram(run: Run): Run {
  const { source: _source, mode: _mode, env: _env, ...spec } = run.spec;
  return { ...run, spec };
}
