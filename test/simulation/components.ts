import { type ControllerSettings, createControllers } from "#controllers/index.ts";
import { createScheduler } from "#controllers/scheduler/index.ts";
import { defaultPlugins } from "#controllers/scheduler/plugins.ts";
import { createClient } from "#kube/client.ts";
import { createNode } from "#local/node/node.ts";
import { PodLogs } from "#local/node/pod-logs.ts";
import { createReplicaSetController } from "#local/replicaset/index.ts";
import type { Defect } from "./defects.ts";
import type { Life } from "./life.ts";
import { nodeMachine } from "./pod.ts";
import { layout, type SimNode } from "./sim-node.ts";
import type { World } from "./world.ts";

export const componentNames = ["scheduler", "controllers", "replicaSets", "node"] as const;
export type ComponentName = (typeof componentNames)[number];

/** TTL of the workspace of a job that is over, in seconds. */
const workspaceTtlSeconds = 20;

/** Longer than the controllers are ever away, so that what a Run has stored is recorded before it is old enough. */
const sweepIntervalMs = 60_000;
/** How long an answered WorkflowAction is kept, in seconds. */
export const actionTtlSeconds = 60;

/** The longest that a component that crashed stays away, in milliseconds. */
const longestAbsenceMs = 25_000;

/**
 * The processes that are there once: scheduler, controllers, ReplicaSet controller, node. Each can die at any call and
 * comes back some time later, knowing nothing.
 */
export class Components {
  readonly #world: World;
  readonly #node: SimNode;
  readonly #clusterUid: string;
  readonly #defect: Defect;
  readonly #living = new Map<ComponentName, Life>();

  constructor(world: World, node: SimNode, clusterUid: string, defect: Defect) {
    this.#world = world;
    this.#node = node;
    this.#clusterUid = clusterUid;
    this.#defect = defect;
  }

  /** Starts a component that does not run. */
  start(name: ComponentName): void {
    if (this.#living.has(name)) return;
    const life = this.#world.birth(name, name, name === "node" ? nodeMachine : name);
    this.#living.set(name, life);
    life.onEnd(() => {
      this.#living.delete(name);
      const absence = this.#world.faults.dice("absence").int(0, longestAbsenceMs);
      this.#world.clock.after(absence, () => this.start(name));
    });
    this.#begin(name, life).catch((error: unknown) => {
      this.#world.report("a component starts", life.name, String(error));
    });
  }

  startAll(): void {
    for (const name of componentNames) this.start(name);
  }

  async #begin(name: ComponentName, life: Life): Promise<void> {
    const world = this.#world;
    const line = world.network.connect(life);
    const deps = {
      client: createClient(name === "controllers" ? (this.#defect.controllers?.(line) ?? line) : line),
      clock: life.clock,
      random: world.faults.dice(`random of ${life.name}`).random,
      logger: world.logger(life),
    };
    const { signal } = new AbortController();
    switch (name) {
      case "scheduler":
        return createScheduler({ ...deps, plugins: this.#defect.plugins ?? defaultPlugins }).start(signal);
      case "controllers": {
        const settings: ControllerSettings = {
          pool: { image: "kruntimes:simulation", clusterUid: this.#clusterUid, sweepIntervalMs },
          workflow: { workspaceTtlSeconds },
          actions: { ttlSeconds: actionTtlSeconds },
        };
        return createControllers(deps, settings).start(signal);
      }
      case "replicaSets":
        return createReplicaSetController(deps).start(signal);
      case "node":
        return createNode({
          ...deps,
          layout,
          processes: this.#node.processesFor(life),
          directories: life.guard("directories", {
            make() {},
            publish() {},
            remove: (path: string) => this.#node.remove(path),
            list: async () => [...this.#node.pods.keys()],
          }),
          logs: new PodLogs({ append() {} }),
          agentEnv: {},
        }).start(signal);
      default:
        name satisfies never;
    }
  }
}
