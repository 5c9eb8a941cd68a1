import { jsonEqual } from "#api/json.ts";
import type { PersistentWorkspace } from "#api/kinds/persistent-workspace.ts";
import type { Runtime } from "#api/kinds/runtime.ts";
import { group, labels } from "#api/labels.ts";
import { listedKeys } from "#api/references.ts";
import { capacityOf } from "#api/runtimes.ts";
import type { Pod, ReplicaSet } from "#kube/builtin.ts";
import type { Ledger } from "./ledger.ts";
import type { Objects } from "./objects.ts";
import { type PodView, podKey, viewPod } from "./pod-view.ts";
import type { Pool } from "./pool.ts";
import type { Slot } from "./slot.ts";
import type { RuntimeView, World } from "./snapshot.ts";
import { podsTopic, podTopic, runtimeTopic, type Topic, workspaceTopic } from "./topics.ts";
import { poolKey } from "./workload.ts";

/** Told when something changed that waiting Runs may wait for: those of one pool, or of all pools of a namespace. */
export interface Waker {
  wakePool(poolKey: string, topic: Topic): void;
  wakeNamespace(namespace: string, topic: Topic): void;
}

/**
 * Pods, ReplicaSets, Runtimes and workspaces as placement sees them. Turns changes of objects into changes of the ledger and wakes
 * what waits for them; a change that placement does not depend on (a heartbeat, a label) wakes nobody.
 */
export class ClusterView implements World {
  readonly #objects: Objects;
  readonly #ledger: Ledger;
  readonly #waker: Waker;

  constructor(objects: Objects, ledger: Ledger, waker: Waker) {
    this.#objects = objects;
    this.#ledger = ledger;
    this.#waker = waker;
  }

  runtime(namespace: string, name: string): RuntimeView | undefined {
    const runtime = this.#objects.runtime(`${namespace}/${name}`);
    return runtime && viewRuntime(runtime);
  }

  pool(key: string): Pool {
    return this.#ledger.pool(key);
  }

  slot(key: string): Slot | undefined {
    return this.#ledger.slot(key);
  }

  workspace(namespace: string, name: string): PersistentWorkspace | undefined {
    return this.#objects.workspace(`${namespace}/${name}`);
  }

  podChanged(old: Pod | undefined, next: Pod | undefined): void {
    if (next !== undefined) this.#setPod(next);
    else if (old !== undefined) this.#removePod(old);
  }

  #removePod(old: Pod): void {
    if (old.metadata.uid === undefined) return;
    const key = podKey(old.metadata.namespace, old.metadata.uid);
    const view = this.#ledger.slot(key)?.view;
    this.#ledger.removePod(key);
    if (view !== undefined) this.#podTurned(view);
  }

  replicaSetChanged(old: ReplicaSet | undefined, next: ReplicaSet | undefined): void {
    const owner = (set: ReplicaSet | undefined) =>
      set?.metadata.ownerReferences?.find((one) => one.kind === "Runtime" && one.apiVersion.startsWith(`${group}/`));
    const [before, now] = [owner(old), owner(next)];
    if (old?.metadata.uid === next?.metadata.uid && before?.uid === now?.uid) return; // only its counts changed
    const namespace = (next ?? old)?.metadata.namespace;
    for (const name of new Set([before?.name, now?.name])) {
      if (name !== undefined) this.#reviewPods(poolKey(namespace, name));
    }
  }

  runtimeChanged(old: Runtime | undefined, next: Runtime | undefined): void {
    const metadata = (next ?? old)?.metadata;
    if (metadata === undefined) return;
    if (jsonEqual(old && viewRuntime(old), next && viewRuntime(next))) return;
    const pool = poolKey(metadata.namespace, metadata.name);
    if (old?.metadata.uid !== next?.metadata.uid) this.#reviewPods(pool);
    this.#waker.wakePool(pool, runtimeTopic);
  }

  workspaceChanged(old: PersistentWorkspace | undefined, next: PersistentWorkspace | undefined): void {
    const metadata = (next ?? old)?.metadata;
    if (metadata === undefined || jsonEqual(old && bindingOf(old), next && bindingOf(next))) return;
    // Not only the pool of its Runtime: a Run that names another Runtime than its workspace waits in the pool of that other one.
    this.#waker.wakeNamespace(metadata.namespace ?? "", workspaceTopic(metadata.name));
  }

  #setPod(pod: Pod): void {
    const { namespace, labels: own } = pod.metadata;
    const runtime = own?.[labels.runtime] ?? "";
    const view = viewPod(
      pod,
      (name) => this.#objects.replicaSet(`${namespace ?? ""}/${name}`),
      this.#objects.runtime(`${namespace ?? ""}/${runtime}`)?.metadata.uid,
    );
    const before = this.#ledger.slot(view.key)?.view;
    if (before !== undefined && jsonEqual(before, view)) return;
    this.#ledger.setPod(view);
    if (before !== undefined && before.pool !== view.pool) this.#podTurned(before);
    this.#podTurned(view);
  }

  #podTurned(view: PodView): void {
    this.#waker.wakePool(view.pool, podsTopic);
    this.#waker.wakePool(view.pool, podTopic(view.key));
  }

  #reviewPods(pool: string): void {
    for (const pod of this.#objects.podsOf(pool)) this.#setPod(pod);
  }
}

function viewRuntime(runtime: Runtime): RuntimeView {
  return {
    uid: runtime.metadata.uid ?? "",
    deleting: runtime.metadata.deletionTimestamp !== undefined,
    capacity: capacityOf(runtime.spec) ?? {},
    references: listedKeys(runtime.spec),
  };
}

/** What a placement depends on; usage counts and times change often and matter to nobody here. */
function bindingOf({ metadata, spec, status }: PersistentWorkspace) {
  return {
    uid: metadata.uid,
    deleting: metadata.deletionTimestamp !== undefined,
    specRuntime: spec.runtime,
    phase: status?.phase,
    runtime: status?.runtime,
    boundPodUID: status?.boundPodUID,
  };
}
