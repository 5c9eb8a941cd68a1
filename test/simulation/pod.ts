import type { Amounts } from "#api/quantity.ts";
import { sleep } from "#kube/ports.ts";
import {
  type ExecuteRequest,
  type ExecutionExit,
  type ExecutionId,
  type ExecutorClient,
  ExecutorUnavailableError,
  executionKey,
} from "#runtime/executor-client.ts";
import { MemoryFiles } from "#runtime/files/memory-files.ts";
import type { Files } from "#runtime/files/port.ts";
import { type ExecutorMethod, SimulatedExecutor } from "#runtime/simulated-executor.ts";
import type { SimulatedProgram } from "#runtime/simulated-program.ts";
import type { Life } from "./life.ts";
import type { PodFacts, Rule } from "./rules/rule.ts";
import { readScript } from "./script.ts";
import type { World } from "./world.ts";

/** Name of the machine that all Pods run on. */
export const nodeMachine = "node";

/** How often the executor does not answer in a world where that is common. */
const lossPerCall = 0.03;

/** A Pod as it is on its node: a volume and an executor, which outlive the agent. */
export class SimPod implements PodFacts {
  readonly uid: string;
  readonly files: Files;
  readonly executor: ExecutorClient;
  name = "";
  capacity: Amounts = {};
  readonly #world: World;
  readonly #programs: SimulatedExecutor;
  readonly #volume: MemoryFiles;
  /** The executor process, while there is one. */
  #executorLife: Life | undefined;

  /** @param root the directory that stands for /workspace */
  constructor(uid: string, root: string, world: World) {
    this.uid = uid;
    this.#world = world;
    this.#volume = new MemoryFiles({ root, now: () => world.clock.now() });
    this.files = new Proxy<MemoryFiles>(this.#volume, {
      get: (target, key) => {
        const member: unknown = Reflect.get(target, key, target);
        if (typeof member !== "function") return member;
        return (...args: unknown[]) => {
          if (key === "remove") world.tell((rule) => rule.remove?.(this, String(args[0])));
          return Reflect.apply(member, target, args);
        };
      },
    });
    this.#programs = new SimulatedExecutor({
      clock: world.clockOf(nodeMachine),
      random: world.faults.dice("boot ids").random,
      program: (request) => this.#program(request),
      writeFile: async (path, content) => {
        await this.#volume.writeFile(path, content);
        world.tell((rule) => rule.wrote?.(this, path, content));
      },
      before: (method, id) => this.#lose("request", method, id),
      after: (method, id) => this.#lose("answer", method, id),
    });
    this.#programs.crash();
    this.executor = this.#watchExits(this.#programs);
  }

  get running(): readonly ExecutionId[] {
    return this.#programs.running;
  }

  /** The executor of this life answers from now on. */
  bootExecutor(life: Life): void {
    this.#executorLife = life;
    this.#programs.boot();
    life.onEnd(() => {
      this.#executorLife = undefined;
      this.#programs.crash();
    });
  }

  setHealth(healthy: boolean): void {
    this.#programs.setHealth({ healthy, message: healthy ? "" : "it feels ill" });
  }

  #program(request: ExecuteRequest): SimulatedProgram {
    const run = this.#world.runOf(request.runUid);
    const script = readScript(run?.spec.source?.inline ?? "", request.env, request);
    this.#world.trace.add(`${this.name} starts ${executionKey(request)} of ${request.platformEnv?.KRUNTIME_RUN_NAME}`);
    this.#world.tell((rule) => rule.start?.({ pod: this, request, script }));
    return script.program;
  }

  /** Loses requests and answers, and is a point at which the executor may die. */
  async #lose(what: "request" | "answer", method: ExecutorMethod, id: ExecutionId | undefined): Promise<void> {
    const { faults, clock } = this.#world;
    const life = this.#executorLife;
    if (life !== undefined) this.#world.atPoint(life, `${what} of ${method}`, what === "request" ? "before" : "after");
    if (faults.strikes("executorLoss", lossPerCall)) {
      const dice = faults.dice("executorLoss");
      if (dice.chance(0.5)) await sleep(clock, dice.around(300));
      if (dice.chance(0.7)) {
        this.#world.trace.add(
          `${this.name} loses the ${what} of ${method} ${id === undefined ? "" : executionKey(id)}`,
        );
        throw new ExecutorUnavailableError(`the ${what} was lost`);
      }
    }
  }

  /** Tells the rules of each end that an agent learns of. */
  #watchExits(executor: SimulatedExecutor): ExecutorClient {
    const told = (id: ExecutionId, exit: ExecutionExit) =>
      this.#world.tell((rule: Rule) => rule.exit?.(this, id, exit));
    return {
      health: (signal) => executor.health(signal),
      execute: (request) => executor.execute(request),
      watch: (id, fromSeq, onEvent, signal, taken) =>
        executor.watch(
          id,
          fromSeq,
          (event) => {
            if (event.kind === "exited") told(id, event.exit);
            return onEvent(event);
          },
          signal,
          taken,
        ),
      async list() {
        const listed = await executor.list();
        for (const { exit, ...id } of listed) if (exit !== undefined) told(id, exit);
        return listed;
      },
      cancel: (id, graceMs, cause) => executor.cancel(id, graceMs, cause),
      forget: (id) => executor.forget(id),
    };
  }
}
