import { hash8 } from "#api/hash.ts";
import { stableJson } from "#api/json.ts";
import type { PersistentWorkspace } from "#api/kinds/persistent-workspace.ts";
import type { Run } from "#api/kinds/run.ts";
import type { Runtime, RuntimeStatus } from "#api/kinds/runtime.ts";
import { annotations, labels } from "#api/labels.ts";
import { keyOf } from "#api/meta.ts";
import { replicaSetName } from "#api/names.ts";
import { runtimes } from "#api/resources.ts";
import { isTerminal } from "#api/runs.ts";
import { drainTimeoutOf, replicasOf } from "#api/runtimes.ts";
import { timestamp } from "#api/time.ts";
import { type ControllerDeps, controllerOf, type Informers } from "#controllers/informers.ts";
import {
  apiVersionOf,
  controllerReference,
  type Pod,
  type PodTemplateSpec,
  pods,
  type ReplicaSet,
  replicaSets,
} from "#kube/builtin.ts";
import { type Controller, createController } from "#kube/controller.ts";
import { isTerminating } from "#kube/events.ts";
import { orNothing } from "#kube/or-nothing.ts";
import { after, done, type Outcome } from "#kube/outcome.ts";
import { isAlreadyExists, isConflict, isNotFound } from "#kube/transport.ts";
import { eventsOf } from "./events.ts";
import { createIdentityKeeper } from "./identity-keeper.ts";
import { leavingCost, observe, type Plan, type PoolChange, type PoolPod, type Seen } from "./observe.ts";
import { type PoolSettings, podTemplate } from "./pod-template.ts";
import { type Problem, problemRetryMs, refusal } from "./problem.ts";
import { statusOf } from "./status.ts";

/** A status that differs only in the number of active Runs is written at most this often. */
const countIntervalMs = 5000;

/** Runs come and go by the hundred: one look at the pool serves all within this time. */
const usageDelayMs = 100;

/** Keeps the pool of every Runtime: its ReplicaSets, the draining of its Pods, its status. */
export function createRuntimePool(deps: ControllerDeps, informers: Informers, settings: PoolSettings): Controller {
  const { client, clock } = deps;
  const podClient = client.of(pods);
  const setClient = client.of(replicaSets);
  const runtimeClient = client.of(runtimes);
  const countWritten = new Map<string, number>();
  const controller = createController({ name: "runtime-pool", reconcile, workers: 4, ...deps });

  const wake = (key: string) => controller.enqueue(key);
  const identities = settings.cluster && createIdentityKeeper(deps, settings.cluster.agentRole, wake);
  informers.runtimes.onChange((old, next) => {
    const object = next ?? old;
    if (object !== undefined) wake(keyOf(object));
  });
  informers.replicaSets.onChange((old, next) => wakeByLabel(next ?? old));
  informers.pods.onChange((old, next) => wakeByLabel(next ?? old));
  informers.runs.onChange((old, next) => {
    if (holdOf(old) !== holdOf(next)) wakeLater(next ?? old);
  });
  informers.workspaces.onChange((old, next) => wakeLater(next ?? old));

  function wakeLater(user: Run | PersistentWorkspace | undefined): void {
    if (user === undefined) return;
    controller.enqueue(`${user.metadata.namespace}/${user.spec.runtime}`, { afterMs: usageDelayMs });
  }

  function wakeByLabel(object: Pod | ReplicaSet | undefined): void {
    const name = object?.metadata.labels?.[labels.runtime];
    if (name !== undefined) wake(`${object?.metadata.namespace}/${name}`);
  }

  async function reconcile(key: string, signal: AbortSignal): Promise<Outcome> {
    const runtime = informers.runtimes.get(key);
    // What a deleted Runtime owned is collected by the API server.
    if (runtime === undefined || runtime.metadata.deletionTimestamp !== undefined) {
      countWritten.delete(key);
      return done;
    }
    const template = podTemplate(runtime, settings);
    const hash = hash8(template);
    const seen = gather(runtime, hash);
    const plan = observe(seen, clock.now());
    const problem =
      (await identities?.ensure(runtime, signal)) ?? (await change(runtime, template, hash, plan, signal));
    const again = await writeStatus(key, runtime, statusOf(runtime, seen, clock.now(), problem));
    return next(plan, problem === undefined ? again : Math.min(again ?? problemRetryMs, problemRetryMs));
  }

  /** Makes the changes of the plan, up to the first one that the API server refuses. */
  async function change(
    runtime: Runtime,
    template: PodTemplateSpec,
    hash: string,
    { changes }: Plan,
    signal: AbortSignal,
  ): Promise<Problem | undefined> {
    for (const one of changes) {
      if (signal.aborted) return undefined;
      try {
        await apply(runtime, template, hash, one);
      } catch (error) {
        if (isTerminating(error)) return undefined;
        if (error instanceof NameTakenError) return { reason: "NameCollision", message: error.message };
        const problem = refusal(error, "TemplateRefused", `ReplicaSet ${replicaSetName(runtime.metadata.name, hash)}`);
        if (problem === undefined) throw error;
        return problem;
      }
    }
    return undefined;
  }

  function next(plan: Plan, statusAgainMs: number | undefined): Outcome {
    const waits = [plan.nextDeadlineMs, statusAgainMs].filter((ms) => ms !== undefined);
    return waits.length === 0
      ? done
      : after(Math.min(...waits), "end of a drain, the count of active Runs, or another try");
  }

  function gather(runtime: Runtime, hash: string): Seen {
    const uid = runtime.metadata.uid ?? "";
    const sets = informers.replicaSets.byIndex("owner", uid).filter(({ metadata }) => !metadata.deletionTimestamp);
    const withPods = (set: ReplicaSet) => ({
      set,
      pods: informers.pods.byIndex("owner", set.metadata.uid ?? "").map(poolPod),
    });
    const isCurrent = (set: ReplicaSet) => set.metadata.labels?.[labels.templateHash] === hash;
    const current = sets.find(isCurrent);
    return {
      replicas: replicasOf(runtime.spec),
      drainTimeoutMs: drainTimeoutOf(runtime.spec),
      current: current && withPods(current),
      old: sets.filter((set) => !isCurrent(set)).map(withPods),
    };
  }

  function poolPod(pod: Pod): PoolPod {
    const key = keyOf(pod);
    const { uid } = pod.metadata;
    const activeRuns = informers.runs.byIndex("pod", key).filter(({ status }) => status?.assignedPodUID === uid).length;
    return {
      pod,
      activeRuns,
      // Looked up only for a Pod that is to go: there may be thousands that wait for their TTL.
      get holdsWorkspace() {
        return informers.workspaces.byIndex("pod", key).some((one) => one.status?.boundPodUID === uid && isNeeded(one));
      },
    };
  }

  /** A Run refers to it, or a job will: the workspace of a job gets its TTL when the job is over. */
  function isNeeded(workspace: PersistentWorkspace): boolean {
    if (workspace.status?.phase !== "Bound") return false;
    if (informers.runs.byIndex("workspace", keyOf(workspace)).length > 0) return true;
    return controllerOf(workspace).length > 0 && workspace.spec.ttlSecondsAfterUnused === undefined;
  }

  async function apply(runtime: Runtime, template: PodTemplateSpec, hash: string, change: PoolChange): Promise<void> {
    switch (change.kind) {
      case "create":
        return create(runtime, template, hash, change.replicas);
      case "drain":
        return annotate(change.pod, { [annotations.draining]: timestamp(clock.now()) });
      case "undrain":
        return annotate(change.pod, { [annotations.draining]: null, [annotations.deletionCost]: null });
      case "shrink":
        for (const pod of change.pods) await annotate(pod, { [annotations.deletionCost]: leavingCost });
        return scale(change.set, change.replicas);
      case "grow":
        return scale(change.set, change.replicas);
      case "remove":
        return remove(change.set);
      default:
        change satisfies never;
    }
  }

  async function create(runtime: Runtime, template: PodTemplateSpec, hash: string, replicas: number): Promise<void> {
    const identity = { [labels.runtime]: runtime.metadata.name, [labels.templateHash]: hash };
    const set: ReplicaSet = {
      metadata: {
        name: replicaSetName(runtime.metadata.name, hash),
        ...(runtime.metadata.namespace === undefined ? {} : { namespace: runtime.metadata.namespace }),
        labels: { ...identity, [labels.managedBy]: "kruntimes" },
        ownerReferences: [controllerReference(runtimes, runtime)],
      },
      spec: {
        replicas,
        selector: { matchLabels: identity },
        template: {
          ...template,
          metadata: { ...template.metadata, labels: { ...template.metadata?.labels, ...identity } },
        },
      },
    };
    try {
      informers.replicaSets.noteWrite(await setClient.create(set));
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
      const taken = await orNothing(setClient.get(set.metadata));
      // Ours: the cache is behind. On its way out, as that of a Runtime that was deleted and made again: its end wakes us.
      if (taken === undefined || taken.metadata.deletionTimestamp !== undefined) return;
      if (!controllerOf(taken).includes(runtime.metadata.uid ?? "")) throw new NameTakenError(set.metadata.name);
    }
  }

  /** Sets or (with null) removes annotations of exactly this Pod. */
  async function annotate(pod: Pod, change: Readonly<Record<string, string | null>>): Promise<void> {
    const { annotations: old = {}, uid } = pod.metadata;
    if (Object.entries(change).every(([key, value]) => old[key] === (value ?? undefined))) return;
    const patch = { metadata: { uid, annotations: change } };
    try {
      informers.pods.noteWrite(await podClient.patch(pod.metadata, patch));
    } catch (error) {
      if (!isNotFound(error) && !isConflict(error)) throw error; // gone or replaced: its own event wakes us
    }
  }

  async function scale(set: ReplicaSet, replicas: number): Promise<void> {
    if (set.spec.replicas === replicas) return;
    const written = await setClient.update({ ...set, spec: { ...set.spec, replicas } });
    informers.replicaSets.noteWrite(written, set.metadata.resourceVersion);
  }

  async function remove(set: ReplicaSet): Promise<void> {
    const { uid, resourceVersion } = set.metadata;
    try {
      await setClient.delete(set.metadata, { preconditions: { uid, resourceVersion } });
      informers.replicaSets.noteDelete(set);
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }

  /** Writes what changed. Returns when to look again at a count that was held back. */
  async function writeStatus(key: string, runtime: Runtime, status: RuntimeStatus): Promise<number | undefined> {
    if (stableJson(status) === stableJson(runtime.status ?? {})) return undefined;
    const { activeRuns: _, ...rest } = status;
    const { activeRuns: __, ...written } = runtime.status ?? {};
    const now = clock.monotonic();
    if (stableJson(rest) === stableJson(written)) {
      const due = (countWritten.get(key) ?? Number.NEGATIVE_INFINITY) + countIntervalMs - now;
      if (due > 0) return due;
    }
    countWritten.set(key, now);
    const answer = await runtimeClient.update({ ...runtime, status }, "status");
    informers.runtimes.noteWrite(answer, runtime.metadata.resourceVersion);
    tell(runtime, status);
    return undefined;
  }

  function tell(runtime: Runtime, status: RuntimeStatus): void {
    for (const { type, reason, message } of eventsOf(runtime.status, status)) {
      deps.recorder?.event(referenceTo(runtime), type, reason, message);
    }
  }

  return {
    ...controller,
    start(signal) {
      identities?.start(signal ?? new AbortController().signal);
      controller.start(signal);
    },
  };
}

/** What of a pool a Run holds: its Pod, or the workspace that it waits for. */
function holdOf(run: Run | undefined): string | undefined {
  if (run === undefined || isTerminal(run.status?.phase)) return undefined;
  return run.status?.assignedPod ?? run.spec.workspace?.name;
}

/** A ReplicaSet of another owner has the name. What to do: the user deletes it, then the pool makes its own. */
class NameTakenError extends Error {
  override readonly name = "NameTakenError";

  constructor(set: string) {
    super(`ReplicaSet ${set} exists and does not belong to this Runtime; delete it`);
  }
}

function referenceTo({ metadata: { name, namespace, uid } }: Runtime) {
  return {
    apiVersion: apiVersionOf(runtimes),
    kind: runtimes.kind,
    name,
    ...(namespace === undefined ? {} : { namespace }),
    ...(uid === undefined ? {} : { uid }),
  };
}
