import type { PersistentWorkspace } from "#api/kinds/persistent-workspace.ts";
import type { Run } from "#api/kinds/run.ts";
import type { Runtime } from "#api/kinds/runtime.ts";
import type { Pod, ReplicaSet } from "#kube/builtin.ts";

/** The caches that decisions are made from. Keys are `namespace/name`. */
export interface Objects {
  run(key: string): Run | undefined;
  runtime(key: string): Runtime | undefined;
  replicaSet(key: string): ReplicaSet | undefined;
  workspace(key: string): PersistentWorkspace | undefined;
  /** Pods whose label names that Runtime; `poolKey` is `namespace/runtime`. */
  podsOf(poolKey: string): Iterable<Pod>;
}
