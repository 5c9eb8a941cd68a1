import { type KubeObject, keyOf } from "#api/meta.ts";
import { configMaps, type Pod, type PodStatus, persistentVolumeClaims, pods, secrets } from "#kube/builtin.ts";
import { createController } from "#kube/controller.ts";
import { createInformer } from "#kube/informer.ts";
import { after, done, type Outcome } from "#kube/outcome.ts";
import type { Clock, Logger, Random } from "#kube/ports.ts";
import type { Client } from "#kube/resource.ts";
import { isConflict, isNotFound } from "#kube/transport.ts";
import type { NodeLayout } from "./layout.ts";
import type { PodLogs } from "./pod-logs.ts";
import { type PlanFailure, planPod } from "./pod-plan.ts";
import { type MountedReference, PodReferences } from "./pod-references.ts";
import { PodRunner } from "./pod-runner.ts";
import { failedStatus, runningStatus, waitingStatus } from "./pod-status.ts";
import type { Processes } from "./processes.ts";

export interface NodeDeps {
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly layout: NodeLayout;
  readonly processes: Processes;
  readonly directories: Directories;
  readonly logs: PodLogs;
  /** Variables for the agents: how to reach the API server. */
  readonly agentEnv: Readonly<Record<string, string>>;
}

/** The directories of Pods and claims; the adapter is `system-directories.ts`. */
export interface Directories {
  make(path: string): void;
  remove(path: string): Promise<void>;
  /** Names in a directory; none when it does not exist. */
  list(path: string): Promise<readonly string[]>;
  /** Makes files in a directory, named by the keys, take the place of all that were there before, at once. */
  publish(path: string, values: ReadonlyMap<string, Uint8Array>): void;
}

export interface LocalNode {
  start(signal: AbortSignal): Promise<void>;
  /** Ends all Pods at once, without drain. Resolves when no process is left. */
  stop(): Promise<void>;
  /** Ends one container's process as a crash would. False when there is none. */
  crash(pod: { name: string; namespace: string }, container: string): boolean;
}

/** Name of the only node of a local cluster. */
export const nodeName = "local";

/**
 * Stands for kubelet and default scheduler: takes every Pod, runs it as processes under the state directory, writes its
 * status, and lets it go when it is deleted.
 */
export function createNode(deps: NodeDeps): LocalNode {
  const { client, clock, random, logger } = deps;
  const podClient = client.of(pods);
  const informer = createInformer(client, pods, { clock, random, logger });
  const claims = createInformer(client, persistentVolumeClaims, { clock, random, logger });
  const referenced = {
    Secret: createInformer(client, secrets, { clock, random, logger }),
    ConfigMap: createInformer(client, configMaps, { clock, random, logger }),
  };
  const references = new PodReferences({
    publish: (path, values) => deps.directories.publish(path, values),
    find: (kind, namespace, name) => referenced[kind].get(`${namespace}/${name}`),
  });
  const runners = new Map<string, PodRunner>();
  /** What Pods mount, by UID. */
  const mounted = new Map<string, readonly MountedReference[]>();
  const keyOfUid = new Map<string, string>();
  /** Pods that ran under an earlier process of ours, by UID. */
  const orphans = new Set<string>();
  const controller = createController({ name: "local-node", reconcile, clock, random, logger, workers: 8 });

  informer.onChange((old, next) => {
    const object = next ?? old;
    if (object !== undefined) controller.enqueue(keyOf(object));
  });
  claims.onChange(() => {
    // Claims are few, and a Pod may wait for any of them.
    for (const pod of informer.values()) if (pod.status?.phase === "Pending") controller.enqueue(keyOf(pod));
  });

  for (const informer of [referenced.Secret, referenced.ConfigMap]) {
    informer.onChange((old: KubeObject | undefined, next: KubeObject | undefined) => refresh(next ?? old));
  }

  function refresh(object: KubeObject | undefined): void {
    for (const pod of informer.values()) {
      if (pod.metadata.namespace === object?.metadata.namespace && mounted.has(pod.metadata.uid ?? "")) {
        controller.enqueue(keyOf(pod));
      }
    }
  }

  async function reconcile(key: string): Promise<Outcome> {
    const pod = informer.get(key);
    await endOthers(key, pod?.metadata.uid);
    if (pod === undefined) return done;
    if (orphans.has(pod.metadata.uid ?? "")) return endOrphan(pod);
    if (pod.metadata.deletionTimestamp !== undefined) return terminate(pod);
    if (pod.status?.phase === "Failed" || pod.status?.phase === "Succeeded") return done;
    references.publish(pod.metadata.namespace ?? "", mounted.get(pod.metadata.uid ?? "") ?? []);
    const runner = runners.get(pod.metadata.uid ?? "") ?? start(key, pod);
    if (runner instanceof PodRunner) return write(pod, runningStatus(pod, runner, clock.now()));
    return write(pod, waitingStatus(pod, runner, clock.now()));
  }

  /** A Pod that went, or was replaced by one of the same name, leaves no process behind. */
  async function endOthers(key: string, uid: string | undefined): Promise<void> {
    for (const [other, otherKey] of keyOfUid) {
      if (otherKey === key && other !== uid) await forget(other);
    }
  }

  async function forget(uid: string): Promise<void> {
    await runners.get(uid)?.end();
    runners.delete(uid);
    keyOfUid.delete(uid);
    references.forget(mounted.get(uid) ?? []);
    mounted.delete(uid);
    deps.logs.releaseBelow(deps.layout.podDirectory(uid));
    await deps.directories.remove(deps.layout.podDirectory(uid));
  }

  function start(key: string, pod: Pod): PodRunner | PlanFailure {
    const { uid = "", namespace } = pod.metadata;
    const names = [...claims.values()].filter((claim) => claim.metadata.namespace === namespace);
    const plan = planPod(pod, deps.layout, new Set(names.map((claim) => claim.metadata.name)));
    if ("reason" in plan) return plan;
    deps.directories.make(deps.layout.podDirectory(uid));
    for (const directory of plan.directories) deps.directories.make(directory);
    references.publish(namespace ?? "", plan.references);
    if (plan.references.length > 0) mounted.set(uid, plan.references);
    const runner = new PodRunner(uid, plan.containers, {
      clock,
      logger,
      processes: deps.processes,
      agentEnv: deps.agentEnv,
      workingDirectory: deps.layout.podDirectory(uid),
      errorLog: (container) => `${deps.layout.podDirectory(uid)}/${container}.stderr`,
      onOutput: takeOutput(key, uid),
      onChange: () => controller.enqueue(key),
    });
    runners.set(uid, runner);
    keyOfUid.set(uid, key);
    logger.info("Pod started", { pod: key });
    return runner;
  }

  /** A disk that is full loses lines of a log, and not the cluster. */
  function takeOutput(pod: string, uid: string): (container: string, lines: Uint8Array) => void {
    let isLosing = false;
    return (container, lines) => {
      try {
        deps.logs.take(deps.layout.containerLog(uid, container), lines);
        isLosing = false;
      } catch (error) {
        if (!isLosing) logger.error("the output of a container cannot be kept", { pod, container, error });
        isLosing = true;
      }
    };
  }

  /** Drains until the deadline that deletionTimestamp is, then ends what is left and removes the object. */
  async function terminate(pod: Pod): Promise<Outcome> {
    const { uid = "", deletionTimestamp = "" } = pod.metadata;
    const runner = runners.get(uid);
    const leftMs = Date.parse(deletionTimestamp) - clock.now();
    if (runner !== undefined && !runner.ended && leftMs > 0) {
      runner.drain();
      if (!runner.ended) return { kind: "after", ms: leftMs, why: "grace period of the Pod" };
    }
    await forget(uid);
    try {
      const ref = { name: pod.metadata.name, namespace: pod.metadata.namespace };
      await podClient.delete(ref, { gracePeriodSeconds: 0, preconditions: { uid } });
    } catch (error) {
      if (!isNotFound(error) && !isConflict(error)) throw error;
    }
    return done;
  }

  async function write(pod: Pod, status: PodStatus | undefined): Promise<Outcome> {
    if (pod.spec.nodeName === undefined) {
      const bound = { ...pod, spec: { ...pod.spec, nodeName } };
      informer.noteWrite(await podClient.update(bound), pod.metadata.resourceVersion);
      return { kind: "after", ms: 0, why: "status after binding" };
    }
    if (status === undefined) return done;
    try {
      informer.noteWrite(await podClient.update({ ...pod, status }, "status"), pod.metadata.resourceVersion);
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
    return done;
  }

  return {
    async start(signal) {
      informer.start(signal);
      claims.start(signal);
      referenced.Secret.start(signal);
      referenced.ConfigMap.start(signal);
      const needed = [informer, claims, referenced.Secret, referenced.ConfigMap];
      await Promise.all(needed.map((one) => one.whenSynced(signal)));
      await adopt();
      controller.start(signal);
    },
    async stop() {
      await controller.stop();
      await Promise.all([...runners.values()].map((runner) => runner.end()));
    },
    crash(pod, container) {
      const found = informer.get(`${pod.namespace}/${pod.name}`);
      return runners.get(found?.metadata.uid ?? "")?.crash(container) ?? false;
    },
  };

  /** What an earlier process of ours left: Pods that are over, because their processes went with it, and directories. */
  async function adopt(): Promise<void> {
    const known = new Set<string>();
    for (const pod of informer.values()) {
      const { uid = "" } = pod.metadata;
      known.add(uid);
      if (pod.spec.nodeName === undefined) continue;
      orphans.add(uid);
      keyOfUid.set(uid, keyOf(pod));
    }
    for (const uid of await deps.directories.list(deps.layout.pods)) if (!known.has(uid)) await endLeftover(uid);
  }

  /** A Pod that was removed while nobody was here. */
  async function endLeftover(uid: string): Promise<void> {
    await deps.processes.endPod(uid);
    await deps.directories.remove(deps.layout.podDirectory(uid));
  }

  /** A part of the pass over its Pod, so that a write that fails is tried again. */
  async function endOrphan(pod: Pod): Promise<Outcome> {
    const { uid = "" } = pod.metadata;
    await deps.processes.endPod(uid);
    if (pod.status?.phase === "Running") await write(pod, failedStatus(pod, clock.now()));
    orphans.delete(uid);
    return after(0, "what comes after the end of the earlier process");
  }
}
