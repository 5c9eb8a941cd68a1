import { pods } from "#kube/builtin.ts";
import { isNotFound } from "#kube/transport.ts";
import { meanBetweenMs, type TimedFault } from "./faults.ts";
import type { SimNode } from "./sim-node.ts";
import { namespace, type World } from "./world.ts";

/** What goes wrong from time to time, beside what happens to single requests and events. */
export class Disturbances {
  readonly #world: World;
  readonly #node: SimNode;

  constructor(world: World, node: SimNode) {
    this.#world = world;
    this.#node = node;
  }

  /** Begins; it ends with the faults of the world. */
  start(): void {
    for (const kind of Object.keys(meanBetweenMs) as TimedFault[]) this.#schedule(kind);
  }

  /** Everything that is broken works again. */
  repair(): void {
    this.#world.network.restore();
    this.#node.breakStore(0);
    for (const pod of this.#node.pods.values()) pod.setHealth(true);
    for (const watch of ["compaction"] as const) if (this.#world.faults.intensity(watch) > 0) this.#world.api.compact();
  }

  #schedule(kind: TimedFault): void {
    const { faults, clock } = this.#world;
    const intensity = faults.intensity(kind);
    if (intensity === 0) return;
    clock.after(faults.dice(`time of ${kind}`).around(meanBetweenMs[kind] / intensity), () => {
      if (!faults.active) return;
      if (this.#strike(kind)) faults.count(kind);
      this.#schedule(kind);
    });
  }

  /** False when there was nothing to strike. */
  #strike(kind: TimedFault): boolean {
    const world = this.#world;
    const { trace, network, faults } = world;
    const dice = faults.dice(kind);
    switch (kind) {
      case "compaction":
        trace.add("history is compacted");
        world.api.compact();
        return true;
      case "outage": {
        const ms = dice.int(500, 40_000);
        trace.add(`the API server is away for ${ms} ms`);
        network.cut(ms, dice.chance(0.5));
        return true;
      }
      case "partition": {
        const lives = [...world.lives];
        if (lives.length === 0) return false;
        const { name } = dice.pick(lives);
        const ms = dice.int(500, 60_000);
        trace.add(`${name} is cut off for ${ms} ms`);
        network.cut(ms, dice.chance(0.5), name);
        return true;
      }
      case "schedulerCrash":
        return world.arm("scheduler", dice);
      case "controllersCrash":
        return world.arm("controllers", dice);
      case "replicaSetsCrash":
        return world.arm("replicaSets", dice);
      case "nodeCrash":
        return world.arm("node", dice);
      case "agentCrash":
        return world.arm("agent", dice);
      case "executorCrash":
        return world.arm("executor", dice);
      case "executorSick":
        return this.#makeSick(dice.int(1000, 30_000));
      case "podLoss":
        return this.#losePod();
      case "storeOutage": {
        const ms = dice.int(200, 15_000);
        trace.add(`the artifact store is down for ${ms} ms`);
        this.#node.breakStore(ms);
        return true;
      }
      default:
        return kind satisfies never;
    }
  }

  #makeSick(ms: number): boolean {
    const { faults, clock, trace } = this.#world;
    const pods = [...this.#node.pods.values()];
    if (pods.length === 0) return false;
    const pod = faults.dice("executorSick").pick(pods);
    trace.add(`the executor of ${pod.name} is ill for ${ms} ms`);
    pod.setHealth(false);
    clock.after(ms, () => pod.setHealth(true));
    return true;
  }

  /** Somebody deletes a Pod: in good order, or at once as when its node is lost. */
  #losePod(): boolean {
    const { faults, user, trace } = this.#world;
    const dice = faults.dice("podLoss");
    const all = this.#world.objects(pods);
    if (all.length === 0) return false;
    const pod = dice.pick(all);
    const atOnce = dice.chance(0.6);
    trace.add(`${pod.metadata.name} is deleted${atOnce ? " at once" : ""}`);
    const ref = { name: pod.metadata.name, namespace };
    user
      .of(pods)
      .delete(ref, atOnce ? { gracePeriodSeconds: 0 } : {})
      .catch((error: unknown) => {
        if (!isNotFound(error)) throw error;
      });
    return true;
  }
}
