import type { PersistentWorkspace, PersistentWorkspaceStatus } from "#api/kinds/persistent-workspace.ts";
import { labels, workspaceFinalizer } from "#api/labels.ts";
import { keyOf } from "#api/meta.ts";
import { persistentWorkspaces } from "#api/resources.ts";
import { isTerminal } from "#api/runs.ts";
import { withStatus } from "#api/status.ts";
import { lookAgainMs } from "#controllers/behind.ts";
import type { ControllerDeps, Informers } from "#controllers/informers.ts";
import { hasEnded, isDeleting, isDraining, isReady } from "#controllers/pods.ts";
import { tellTrouble, workspaceTrouble } from "#controllers/trouble.ts";
import { type Pod, pods, type ReplicaSet } from "#kube/builtin.ts";
import { type Controller, createController } from "#kube/controller.ts";
import { drive } from "#kube/drive.ts";
import { orNothing } from "#kube/or-nothing.ts";
import { after, done, type Outcome } from "#kube/outcome.ts";
import { isConflict, isNotFound } from "#kube/transport.ts";
import { settle } from "#machines/lib/settle.ts";
import {
  type PersistentWorkspaceEffect,
  persistentWorkspaceMachine,
  persistentWorkspaceStatus,
  restorePersistentWorkspace,
} from "#machines/persistent-workspace.ts";
import { endOfUse, LastUse } from "./last-use.ts";
import { nextDeadline, observe, type Seen } from "./observe.ts";
import { UsagePace } from "./usage-pace.ts";

/** What is seen, and whether it is more than the caches know. */
interface Gathered extends Seen {
  readonly behind: boolean;
}

/** Binds workspaces, fences them by the UID of their Pod, follows their use, and has them cleaned up. */
export function createPersistentWorkspace(deps: ControllerDeps, informers: Informers): Controller {
  const { client, clock } = deps;
  const workspaceClient = client.of(persistentWorkspaces);
  const podClient = client.of(pods);
  const pace = new UsagePace();
  const lastUse = new LastUse();
  const controller = createController({ name: "persistent-workspace", reconcile, workers: 4, ...deps });

  informers.workspaces.onChange((old, next) => {
    if (next !== undefined) controller.enqueue(keyOf(next));
    else if (old !== undefined) {
      pace.forget(old.metadata.uid ?? "");
      lastUse.forget(keyOf(old));
    }
  });
  informers.runs.onChange((old, next) => {
    const run = next ?? old;
    if (run?.spec.workspace === undefined) return;
    // Only the coming and the end of a Run change the use.
    const wasActive = old !== undefined && !isTerminal(old.status?.phase);
    const isActive = next !== undefined && !isTerminal(next.status?.phase);
    if (wasActive === isActive && old !== undefined) return;
    const key = `${run.metadata.namespace}/${run.spec.workspace.name}`;
    const exists = informers.workspaces.get(key) !== undefined;
    if (!isActive && (exists || !informers.workspaces.synced())) {
      // One that was deleted before it had ended has ended now.
      lastUse.note(key, endOfUse(run.status?.completionTime, clock.now(), wasActive));
    }
    if (exists) controller.enqueue(key);
  });
  // Runs may be listed before workspaces are, and may have ended in workspaces that went long ago.
  void informers.workspaces
    .whenSynced()
    .then(() => lastUse.retain((key) => informers.workspaces.get(key) !== undefined));
  informers.pods.onChange((old, next) => {
    const pod = next ?? old;
    if (pod === undefined) return;
    for (const workspace of informers.workspaces.byIndex("pod", keyOf(pod))) controller.enqueue(keyOf(workspace));
    if (next !== undefined && isCandidate(next) && (old === undefined || !isCandidate(old))) wakeUnbound(next);
  });
  informers.replicaSets.onChange((old, next) => {
    // Its Pods were nobody's as long as it was not known.
    if (old === undefined && next !== undefined) wakeUnbound(next);
  });
  informers.runtimes.onChange((old, next) => {
    if (old !== undefined && next !== undefined) return;
    const runtime = next ?? old;
    if (runtime === undefined) return;
    for (const workspace of informers.workspaces.byIndex("runtime", keyOf(runtime)))
      controller.enqueue(keyOf(workspace));
  });

  function wakeUnbound(object: Pod | ReplicaSet): void {
    const runtime = runtimeOf(object);
    if (runtime === undefined) return;
    for (const workspace of informers.workspaces.byIndex("runtime", runtime)) {
      if ((workspace.status?.phase ?? "Pending") === "Pending") controller.enqueue(keyOf(workspace));
    }
  }

  function reconcile(key: string, signal: AbortSignal): Promise<Outcome> {
    return drive<Gathered, PersistentWorkspaceStatus, PersistentWorkspaceEffect>(
      { gather: () => gather(key), step, persist, run, nextWake },
      clock,
      signal,
    );
  }

  async function gather(key: string): Promise<Gathered | undefined> {
    const workspace = informers.workspaces.get(key);
    if (workspace === undefined) return undefined;
    const { namespace, uid = "" } = workspace.metadata;
    const runtime = `${namespace}/${workspace.spec.runtime}`;
    const activeRuns = informers.runs.byIndex("workspace", key).length;
    const status: PersistentWorkspaceStatus = workspace.status ?? { phase: "Pending" };
    const seen: Gathered = {
      behind: false,
      workspace,
      runtimeExists: informers.runtimes.get(runtime) !== undefined,
      candidates:
        status.phase === "Pending"
          ? informers.pods.byIndex("runtime", runtime).filter(isCandidate).filter(isOfPool)
          : [],
      podNamed: (name) => informers.pods.get(`${namespace}/${name}`),
      activeRuns,
      lastCompletion: lastUse.of(key, status),
      usageDue: activeRuns > 0 ? pace.due(uid, clock.now()) : 0,
    };
    if (observe(seen, status, clock.now())?.type !== "LOSE") return seen;
    // Lost is for ever, so the Pod is read as it is now.
    const live = await orNothing(podClient.get({ namespace, name: status.boundPod ?? "" }));
    return { ...seen, behind: true, podNamed: () => live };
  }

  /** A label alone makes no Pod part of a pool: it must belong to a ReplicaSet of that Runtime. */
  function isOfPool(pod: Pod): boolean {
    const owner = pod.metadata.ownerReferences?.find(({ controller, kind }) => controller && kind === "ReplicaSet");
    const set = informers.replicaSets.get(`${pod.metadata.namespace}/${owner?.name}`);
    const runtime = informers.runtimes.get(runtimeOf(pod) ?? "");
    return (
      set !== undefined &&
      set.metadata.uid === owner?.uid &&
      set.metadata.ownerReferences?.some(({ uid }) => uid === runtime?.metadata.uid) === true
    );
  }

  function step(seen: Seen, now: number) {
    const settled = settle({
      machine: persistentWorkspaceMachine,
      snapshot: restorePersistentWorkspace(seen.workspace.status),
      observe: (snapshot) => observe(seen, persistentWorkspaceStatus(snapshot), now),
    });
    return {
      changed: settled.changed,
      status: persistentWorkspaceStatus(settled.snapshot),
      effects: settled.effects,
    };
  }

  async function persist({ workspace }: Seen, status: PersistentWorkspaceStatus): Promise<void> {
    const { uid = "" } = workspace.metadata;
    if (status.activeRuns !== workspace.status?.activeRuns) pace.wrote(uid, status.activeRuns ?? 0, clock.now());
    const written = await workspaceClient.update(withStatus(workspace, status), "status");
    informers.workspaces.noteWrite(written, workspace.metadata.resourceVersion);
    tellTrouble(deps.recorder, persistentWorkspaces, workspace, workspaceTrouble(workspace.status, status));
  }

  async function run(effect: PersistentWorkspaceEffect, { workspace }: Seen): Promise<void> {
    switch (effect.type) {
      case "addFinalizer":
        return setFinalizers(workspace, (finalizers) => [...finalizers, workspaceFinalizer]);
      case "removeFinalizer":
        return setFinalizers(workspace, (finalizers) => finalizers.filter((one) => one !== workspaceFinalizer));
      case "requestDeletion":
        return requestDeletion(workspace);
      default:
        effect satisfies never;
    }
  }

  /** Reads live, because the status write before has moved the resourceVersion; a namesake is left alone. */
  async function setFinalizers(
    workspace: PersistentWorkspace,
    change: (finalizers: readonly string[]) => string[],
  ): Promise<void> {
    try {
      const live = await workspaceClient.get(workspace.metadata);
      if (live.metadata.uid !== workspace.metadata.uid) return;
      const before = live.metadata.finalizers ?? [];
      const finalizers = [...new Set(change(before))];
      if (finalizers.length === before.length) return;
      const { uid, resourceVersion } = live.metadata;
      const patch = { metadata: { uid, resourceVersion, finalizers } };
      const written = await workspaceClient.patch(live.metadata, patch);
      const gone = written.metadata.deletionTimestamp !== undefined && finalizers.length === 0;
      if (!gone) informers.workspaces.noteWrite(written, resourceVersion);
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }

  async function requestDeletion(workspace: PersistentWorkspace): Promise<void> {
    try {
      await workspaceClient.delete(workspace.metadata, { preconditions: { uid: workspace.metadata.uid } });
      informers.workspaces.noteDelete(workspace);
    } catch (error) {
      if (!isNotFound(error) && !isConflict(error)) throw error; // gone, or a namesake
    }
  }

  function nextWake(status: PersistentWorkspaceStatus, seen: Gathered, now: number): Outcome {
    const deadline = nextDeadline(seen, status, now) ?? Number.POSITIVE_INFINITY;
    const again = seen.behind && status.phase !== "Lost" ? now + lookAgainMs : Number.POSITIVE_INFINITY;
    const due = Math.min(deadline, again);
    return due === Number.POSITIVE_INFINITY ? done : after(due - now, "use or TTL of the workspace, a late watch");
  }

  const runtimeOf = ({ metadata }: Pod | ReplicaSet) => {
    const name = metadata.labels?.[labels.runtime];
    return name === undefined ? undefined : `${metadata.namespace}/${name}`;
  };

  return controller;
}

const isCandidate = (pod: Pod) => isReady(pod) && !isDeleting(pod) && !hasEnded(pod) && !isDraining(pod);
