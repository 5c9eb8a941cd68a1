import type { AnyMachineSnapshot } from "xstate";
import { workspaceFinalizer } from "#api/labels.ts";
import { persistentWorkspaces, runs } from "#api/resources.ts";
import { timestamp } from "#api/time.ts";
import { createPersistentWorkspace } from "#controllers/persistent-workspace/index.ts";
import type { FaultRequest } from "#local/apiserver/index.ts";
import { type PersistentWorkspaceEvent, restorePersistentWorkspace } from "#machines/persistent-workspace.ts";
import { ControlPlane } from "#test/integration/support/control-plane.ts";
import { arranged, byItself, type Scene, type Stage } from "./arranged.ts";
import { namespace, Pool } from "./pool.ts";

const name = "ws";
const message = "text for people";
const podName = "runtime-bash-1-0";
/** Somebody else's finalizer: the object stays, so that what happens after its deletion can be seen. */
const keeper = "test.example.com/keep";

type Sample<T extends PersistentWorkspaceEvent["type"]> = Extract<PersistentWorkspaceEvent, { type: T }>;

interface Surroundings {
  readonly ttlSeconds?: number;
  readonly finalizers?: readonly string[];
  /** The first request of this kind is lost. */
  readonly loses?: (request: FaultRequest) => boolean;
}

class WorkspaceStage implements Stage {
  readonly plane = new ControlPlane();
  readonly pool = new Pool(this.plane.client);
  readonly #surroundings: Surroundings;
  #users: string[] = [];
  #made = 0;

  constructor(surroundings: Surroundings) {
    this.#surroundings = surroundings;
    let { loses } = surroundings;
    this.plane.api.faults.onRequest = (request) => {
      if (!loses?.(request)) return undefined;
      loses = undefined;
      return { kind: "lost" };
    };
  }

  start(): Promise<void> {
    return this.plane.start((deps, informers) => [createPersistentWorkspace(deps, informers)]);
  }

  /** The subject, made by the first arrangement that needs it. */
  async exists(): Promise<void> {
    if ((await this.plane.find(persistentWorkspaces, name)) !== undefined) return;
    const { ttlSeconds, finalizers = [] } = this.#surroundings;
    await this.plane.create(persistentWorkspaces, {
      metadata: { name, namespace, finalizers: [keeper, ...finalizers] },
      spec: { runtime: "bash", ...(ttlSeconds !== undefined && { ttlSecondsAfterUnused: ttlSeconds }) },
    });
  }

  /** So many Runs that have not ended refer to the workspace. */
  async setUsers(count: number): Promise<void> {
    while (this.#users.length < count) {
      const user = `run-${this.#made++}`;
      const spec = { runtime: "bash", source: { inline: "exit" }, workspace: { name } };
      await this.plane.create(runs, { metadata: { name: user, namespace }, spec });
      this.#users.push(user);
    }
    for (const user of this.#users.splice(count)) {
      const run = await this.plane.client.of(runs).get({ name: user, namespace });
      const status = { phase: "Cancelled" as const, completionTime: timestamp(this.plane.clock.now()) };
      await this.plane.client.of(runs).update({ ...run, status }, "status");
    }
  }

  deleteSubject(): Promise<unknown> {
    return this.plane.client.of(persistentWorkspaces).delete({ name, namespace });
  }

  until(holds: () => boolean | Promise<boolean>, ms?: number): Promise<void> {
    return this.plane.until(holds, ms);
  }

  async state(): Promise<string | undefined> {
    return (await this.plane.find(persistentWorkspaces, name))?.status?.phase;
  }

  stop(): void {
    this.plane.stop();
  }
}

const now = 1_751_803_200_000;
const bindTo = (finalizer: boolean): Sample<"BIND"> => ({
  type: "BIND",
  runtime: "bash",
  pod: podName,
  podUID: "uid",
  path: "/workspace/persistent/ws",
  finalizer,
  now,
});
const deletion: Sample<"RELEASE"> = { type: "RELEASE", reason: "DeletionRequested", message, now };
const expiry: Sample<"RELEASE"> = { type: "RELEASE", reason: "TTLExpired", message, now };
const loss: Sample<"LOSE"> = { type: "LOSE", reason: "BoundPodDeleted", message, now };
const use = (activeRuns: number): Sample<"USE"> => ({ type: "USE", activeRuns, now });
const unused: Sample<"UNUSED"> = { type: "UNUSED", lastUsedTime: timestamp(now), now };

const start = restorePersistentWorkspace(undefined);
const statusOf = (snapshot: AnyMachineSnapshot) => (snapshot as typeof start).context.status;

/** Whatever it waits for is said once, and the Runtime does not go again. */
function waiting(snapshot: AnyMachineSnapshot): PersistentWorkspaceEvent[] {
  const { reason } = statusOf(snapshot);
  const pods: Sample<"WAIT"> = { type: "WAIT", reason: "NoReadyRuntimePods", message, now };
  if (reason === undefined) return [{ ...pods, reason: "RuntimeNotFound" }, pods];
  return reason === "RuntimeNotFound" ? [pods] : [];
}

function usage(snapshot: AnyMachineSnapshot): PersistentWorkspaceEvent[] {
  const { activeRuns = 0 } = statusOf(snapshot);
  return [use(activeRuns === 1 ? 2 : 1), ...(activeRuns > 0 ? [unused] : [])];
}

function scene(
  sceneName: string,
  surroundings: Surroundings,
  events: Partial<Record<string, (snapshot: AnyMachineSnapshot) => PersistentWorkspaceEvent[]>>,
  follows?: Scene<WorkspaceStage, PersistentWorkspaceEvent>["follows"],
): Scene<WorkspaceStage, PersistentWorkspaceEvent> {
  return {
    name: sceneName,
    start,
    events: (snapshot) => events[String(snapshot.value)]?.(snapshot) ?? [],
    ...(follows !== undefined && { follows }),
    async build() {
      const stage = new WorkspaceStage(surroundings);
      await stage.start();
      return stage;
    },
  };
}

const isStripping = ({ verb, resource, body }: FaultRequest): boolean => {
  const { finalizers } = (body as { metadata?: { finalizers?: string[] } } | undefined)?.metadata ?? {};
  return (
    verb === "patch" &&
    resource.startsWith("persistentworkspaces") &&
    finalizers?.includes(workspaceFinalizer) === false
  );
};

export const persistentWorkspaceArrangements = arranged<WorkspaceStage, PersistentWorkspaceEvent>({
  scenes: [
    scene(
      "a workspace as people make them",
      {},
      {
        Pending: (snapshot) => [...waiting(snapshot), bindTo(false), deletion],
        Bound: (snapshot) => [
          loss,
          deletion,
          ...usage(snapshot),
          isPodReady(snapshot) ? { type: "POD_NOT_READY", message, now } : { type: "POD_READY", now },
        ],
        Released: (snapshot) => (statusOf(snapshot).boundPodUID === undefined ? [] : [loss, ...usage(snapshot)]),
      },
      (_, event) => (event.type === "BIND" && !event.finalizer ? bindTo(true) : undefined),
    ),
    scene(
      "a workspace with a TTL",
      { ttlSeconds: 60, finalizers: [workspaceFinalizer] },
      {
        Pending: () => [bindTo(true)],
        Bound: () => [expiry],
      },
    ),
    scene(
      "a deletion that is lost on its way",
      { ttlSeconds: 60, finalizers: [workspaceFinalizer], loses: ({ verb }) => verb === "delete" },
      { Pending: () => [bindTo(true)], Bound: () => [expiry] },
      (_, event) => (event === expiry ? { type: "NOT_DELETED" } : undefined),
    ),
    scene(
      "a finalizer whose removal is lost on its way",
      { finalizers: [workspaceFinalizer], loses: isStripping },
      { Pending: () => [bindTo(true), deletion], Bound: () => [loss] },
      (_, event) => (event === loss || event === deletion ? { type: "FINALIZER_LEFT" } : undefined),
    ),
  ],
  arrange: {
    async WAIT(stage, { reason }) {
      if (reason === "NoReadyRuntimePods") await stage.pool.ensureRuntime();
      await stage.exists();
    },
    async BIND(stage) {
      await stage.pool.ensurePod(podName);
      await stage.exists();
    },
    async LOSE(stage) {
      await stage.pool.deletePod(podName);
    },
    async RELEASE(stage, { reason }) {
      if (reason === "TTLExpired") return; // time does it
      await stage.exists();
      await stage.deleteSubject();
    },
    USE: (stage, { activeRuns }) => stage.setUsers(activeRuns),
    UNUSED: (stage) => stage.setUsers(0),
    async POD_READY(stage) {
      await stage.pool.setReady(podName, true);
    },
    async POD_NOT_READY(stage) {
      await stage.pool.setReady(podName, false);
    },
    NOT_DELETED: byItself,
    FINALIZER_LEFT: byItself,
  },
});

const isPodReady = (snapshot: AnyMachineSnapshot): boolean =>
  statusOf(snapshot).conditions?.find(({ type }) => type === "PodReady")?.status === "True";
