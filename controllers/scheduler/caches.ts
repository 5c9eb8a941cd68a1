import type { PersistentWorkspace } from "#api/kinds/persistent-workspace.ts";
import type { Run } from "#api/kinds/run.ts";
import type { Runtime } from "#api/kinds/runtime.ts";
import { labels } from "#api/labels.ts";
import { persistentWorkspaces, runs, runtimes } from "#api/resources.ts";
import { unfinishedRuns } from "#api/runs.ts";
import { type Pod, pods, type ReplicaSet, replicaSets } from "#kube/builtin.ts";
import { createInformer, type Informer } from "#kube/informer.ts";
import type { Clock, Logger, Random } from "#kube/ports.ts";
import type { Client } from "#kube/resource.ts";
import type { Objects } from "./objects.ts";
import { poolKey } from "./workload.ts";

/** The watches of the scheduler: one for each kind. */
export interface Caches {
  readonly runs: Informer<Run>;
  readonly runtimes: Informer<Runtime>;
  readonly workspaces: Informer<PersistentWorkspace>;
  readonly pods: Informer<Pod, "pool">;
  readonly replicaSets: Informer<ReplicaSet>;
}

export interface CacheDeps {
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Only this namespace; default all. */
  readonly namespace?: string;
}

export function createCaches(deps: CacheDeps): Caches {
  const { client, namespace, clock, random, logger } = deps;
  const options = { clock, random, logger, namespace };
  const ofRuntimes = { ...options, labelSelector: labels.runtime };
  return {
    runs: createInformer(client, runs, { ...options, fieldSelector: unfinishedRuns, transform: trimRun }),
    runtimes: createInformer(client, runtimes, { ...options, transform: trimRuntime }),
    workspaces: createInformer(client, persistentWorkspaces, options),
    pods: createInformer(client, pods, {
      ...ofRuntimes,
      transform: trimPod,
      indexes: { pool: (pod) => [poolKey(pod.metadata.namespace, pod.metadata.labels?.[labels.runtime] ?? "")] },
    }),
    replicaSets: createInformer(client, replicaSets, { ...ofRuntimes, transform: trimReplicaSet }),
  };
}

export function objectsOf(caches: Caches): Objects {
  return {
    run: (key) => caches.runs.get(key),
    runtime: (key) => caches.runtimes.get(key),
    replicaSet: (key) => caches.replicaSets.get(key),
    workspace: (key) => caches.workspaces.get(key),
    podsOf: (pool) => caches.pods.byIndex("pool", pool),
  };
}

// What placement does not read is not kept: a Run may bring 256 KiB of script, and there may be 100,000 Runs.

function trimRun(run: Run): Run {
  const { source: _source, env: _env, artifactInputs: _inputs, mode, ...spec } = run.spec;
  const { annotations: _annotations, ...metadata } = run.metadata;
  return { ...run, metadata, spec: { ...spec, ...(mode?.session === undefined ? {} : { mode: { session: {} } }) } };
}

function trimRuntime(runtime: Runtime): Runtime {
  const { annotations: _annotations, ...metadata } = runtime.metadata;
  return { ...runtime, metadata, spec: { ...runtime.spec, template: { spec: { containers: [] } } } };
}

function trimPod(pod: Pod): Pod {
  const { phase, conditions } = pod.status ?? {};
  return {
    ...pod,
    spec: { containers: [] },
    status: { ...(phase !== undefined && { phase }), ...(conditions !== undefined && { conditions }) },
  };
}

function trimReplicaSet(set: ReplicaSet): ReplicaSet {
  return { ...set, spec: { selector: {}, template: { spec: { containers: [] } } } };
}
