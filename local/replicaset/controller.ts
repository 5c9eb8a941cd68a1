import { keyOf } from "#api/meta.ts";
import { lookAgainMs } from "#controllers/behind.ts";
import { type Pod, pods, type ReplicaSet, replicaSets } from "#kube/builtin.ts";
import { createController } from "#kube/controller.ts";
import { createInformer } from "#kube/informer.ts";
import { equalJson } from "#kube/json.ts";
import { after, done, type Outcome, retry } from "#kube/outcome.ts";
import type { Clock, Logger, Random } from "#kube/ports.ts";
import type { Client } from "#kube/resource.ts";
import { isConflict, isNotFound } from "#kube/transport.ts";
import { type Claim, claim, controllerUid, couldAdopt } from "./claim.ts";
import { type Plan, plan, podOf, withFailure } from "./plan.ts";

/** What the controller works with. */
export interface ReplicaSetControllerDeps {
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Only this namespace; default all. */
  readonly namespace?: string;
}

/** A controller that was made but not started. */
export interface ReplicaSetController {
  /** Starts to watch and to act; resolves when everything that exists is known. */
  start(signal?: AbortSignal): Promise<void>;
  stop(): Promise<void>;
  /** Resolves when no ReplicaSet waits for a pass; for tests and simulation. */
  idle(): Promise<void>;
}

/**
 * Keeps the number of Pods that each ReplicaSet asks for, as the ReplicaSet controller of kube-controller-manager
 * does: makes missing ones, replaces those that ended, removes the least useful surplus, adopts and releases by labels, and
 * counts in the status. The Pods of a deleted ReplicaSet are the garbage collector's.
 */
export function createReplicaSetController(deps: ReplicaSetControllerDeps): ReplicaSetController {
  const { client, clock } = deps;
  const sets = createInformer<ReplicaSet, "namespace">(client, replicaSets, {
    ...deps,
    indexes: { namespace: (set) => [set.metadata.namespace ?? ""] },
  });
  const podCache = createInformer<Pod, "controller" | "orphans">(client, pods, {
    ...deps,
    indexes: {
      controller: (pod) => [controllerUid(pod) ?? ""].filter((uid) => uid !== ""),
      // orphans alone: the passes look for Pods to adopt, and there are hardly any
      orphans: (pod) => (controllerUid(pod) === undefined ? [pod.metadata.namespace ?? ""] : []),
    },
  });
  const setApi = client.of(replicaSets);
  const podApi = client.of(pods);
  const controller = createController({ ...deps, name: "replicaset", reconcile });
  const stopping = new AbortController();

  sets.onChange((old, next) => {
    const set = next ?? old;
    if (set !== undefined) controller.enqueue(keyOf(set));
  });
  podCache.onChange((old, next) => {
    for (const pod of [old, next]) if (pod !== undefined) enqueueSetsOf(pod);
  });

  function enqueueSetsOf(pod: Pod): void {
    const { namespace = "", ownerReferences = [] } = pod.metadata;
    const owner = ownerReferences.find((reference) => reference.controller === true);
    if (owner?.kind === "ReplicaSet") controller.enqueue(`${namespace}/${owner.name}`);
    if (owner !== undefined) return;
    for (const set of sets.byIndex("namespace", namespace)) if (couldAdopt(set, pod)) controller.enqueue(keyOf(set));
  }

  async function reconcile(key: string): Promise<Outcome> {
    const set = sets.get(key);
    if (set === undefined) return done;
    const { uid = "", namespace = "" } = set.metadata;
    const candidates = [...podCache.byIndex("controller", uid), ...podCache.byIndex("orphans", namespace)];
    const { owned, adopt, release } = claim(set, candidates);
    for (const change of release) await rewriteOwners(change);
    for (const change of adopt) await rewriteOwners(change);
    // An adopted Pod counts at once: otherwise a new one would be made in its place.
    const counted = [...owned, ...adopt.map(({ pod }) => podCache.get(keyOf(pod)) ?? pod)];
    const planned = plan(set, counted, clock.now());
    const { status, nextAvailableMs } = planned;
    const isSettled = planned.create === 0 && planned.remove.length === 0;
    const { create, remove } = isSettled ? planned : await confirmed(set, planned);
    // What the caches do not know can go without an event that would tell of it.
    const isBehind = create < planned.create || remove.length < planned.remove.length;

    const failure =
      (await attempt("FailedCreate", () => createPods(set, create))) ??
      (await attempt("FailedDelete", () => removePods(remove)));
    const time = `${new Date(clock.now()).toISOString().slice(0, 19)}Z`;
    await writeStatus(set, withFailure(status, failure, time));
    if (failure !== undefined) return retry(failure.error);
    if (isBehind) return after(lookAgainMs, "the caches are behind");
    return nextAvailableMs === undefined ? done : after(nextAvailableMs, "minReadySeconds");
  }

  /**
   * What of a plan still holds. Whoever removes a Pod and wants one less writes twice, and each write has a watch of its own: in
   * between a plan from the caches would replace the Pod for a moment, or remove another one.
   */
  async function confirmed(set: ReplicaSet, planned: Plan): Promise<Pick<Plan, "create" | "remove">> {
    const { uid, namespace } = set.metadata;
    const live = await unlessGone(setApi.get(set.metadata));
    if (live === undefined || live.metadata.uid !== uid) return { create: 0, remove: [] };
    const { items } = await podApi.list({ namespace });
    const { create, remove } = plan(
      live,
      items.filter((pod) => controllerUid(pod) === uid),
      clock.now(),
    );
    const doomed = new Set(planned.remove.map(({ metadata }) => metadata.uid));
    return {
      create: Math.min(create, planned.create),
      remove: remove.filter(({ metadata }) => doomed.has(metadata.uid)),
    };
  }

  async function createPods(set: ReplicaSet, count: number): Promise<void> {
    for (let i = 0; i < count; i++) podCache.noteWrite(await podApi.create(podOf(set)));
  }

  async function removePods(surplus: readonly Pod[]): Promise<void> {
    for (const pod of surplus) {
      const { uid } = pod.metadata;
      try {
        await podApi.delete(pod.metadata, { preconditions: { uid } });
      } catch (error) {
        if (!isNotFound(error) && !isConflict(error)) throw error; // gone already, or a namesake has come
      }
      podCache.noteDelete(pod);
    }
  }

  async function rewriteOwners({ pod, owners }: Claim): Promise<void> {
    const { uid, resourceVersion } = pod.metadata;
    const patch = { metadata: { uid, resourceVersion, ownerReferences: owners.length === 0 ? null : owners } };
    podCache.noteWrite(await podApi.patch(pod.metadata, patch), resourceVersion);
  }

  async function writeStatus(set: ReplicaSet, status: NonNullable<ReplicaSet["status"]>): Promise<void> {
    if (equalJson(status, set.status)) return;
    try {
      sets.noteWrite(await setApi.update({ ...set, status }, "status"), set.metadata.resourceVersion);
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }

  return {
    async start(signal) {
      signal?.addEventListener("abort", () => stopping.abort(), { once: true });
      sets.start(stopping.signal);
      podCache.start(stopping.signal);
      await Promise.all([sets.whenSynced(stopping.signal), podCache.whenSynced(stopping.signal)]);
      controller.start(stopping.signal);
    },
    async stop() {
      stopping.abort();
      await controller.stop();
      await Promise.all([sets.stopped(), podCache.stopped()]);
    },
    idle: () => controller.idle(),
  };
}

async function unlessGone<T>(read: Promise<T>): Promise<T | undefined> {
  try {
    return await read;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

interface Failure {
  readonly reason: "FailedCreate" | "FailedDelete";
  readonly message: string;
  readonly error: unknown;
}

/** Runs what may be refused; the refusal goes into the status before the pass is tried again. */
async function attempt(reason: Failure["reason"], run: () => Promise<void>): Promise<Failure | undefined> {
  try {
    await run();
    return undefined;
  } catch (error) {
    return { reason, message: error instanceof Error ? error.message : String(error), error };
  }
}
