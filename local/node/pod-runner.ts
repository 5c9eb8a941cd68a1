import { timestamp } from "#api/time.ts";
import type { ContainerStatus } from "#kube/builtin.ts";
import type { Cancel, Clock } from "#kube/ports.ts";
import type { ContainerPlan } from "./pod-plan.ts";
import type { Process, Processes } from "./processes.ts";

/** Back-off of a container that ends: at once, then from 1 s doubling to 30 s (the kubelet starts at 10 s). */
const restartBackOffMs = (restarts: number) => (restarts === 0 ? 0 : Math.min(30_000, 1000 * 2 ** (restarts - 1)));

export interface RunnerDeps {
  readonly clock: Clock;
  readonly processes: Processes;
  /** Variables that the agent gets: how to reach the API server. User code must never see them. */
  readonly agentEnv: Readonly<Record<string, string>>;
  readonly workingDirectory: string;
  readonly errorLog: (container: string) => string;
  readonly onOutput: (container: string, line: string) => void;
  /** Something that the Pod's status shows has changed. */
  readonly onChange: () => void;
}

interface Slot {
  readonly plan: ContainerPlan;
  process: Process | undefined;
  ready: boolean;
  restarts: number;
  startedAt: number;
  lastEnd: string | undefined;
  cancelRestart: Cancel | undefined;
}

/**
 * The processes of one Pod: starts them, starts again what ends, follows readiness as the agent reports it, and ends
 * all of them. When the executor ends, its programs end with it, as they do with PID 1 of a container.
 */
export class PodRunner {
  readonly podUid: string;
  readonly #deps: RunnerDeps;
  readonly #slots: Slot[];
  #state: "running" | "draining" | "ended" = "running";

  constructor(podUid: string, containers: readonly ContainerPlan[], deps: RunnerDeps) {
    this.podUid = podUid;
    this.#deps = deps;
    this.#slots = containers.map((plan) => ({
      plan,
      process: undefined,
      ready: false,
      restarts: 0,
      startedAt: 0,
      lastEnd: undefined,
      cancelRestart: undefined,
    }));
    for (const slot of this.#slots) this.#start(slot);
  }

  /** True when the agent takes work and everything runs. */
  get ready(): boolean {
    return this.#state === "running" && this.#slots.every((slot) => slot.ready);
  }

  get ended(): boolean {
    return this.#state === "ended";
  }

  containerStatuses(): ContainerStatus[] {
    return this.#slots.map(({ plan, process, ready, restarts, startedAt, lastEnd }) => ({
      name: plan.name,
      ready,
      started: process !== undefined,
      restartCount: restarts,
      state:
        process === undefined
          ? { waiting: { reason: "CrashLoopBackOff", message: lastEnd ?? "not started" } }
          : { running: { startedAt: timestamp(startedAt) } },
    }));
  }

  /** Asks the agent to drain; it ends by itself when it is idle. Then everything else ends too. */
  drain(): void {
    if (this.#state !== "running") return;
    this.#state = "draining";
    const agent = this.#agent();
    if (agent?.process === undefined) void this.end();
    else agent.process.signal("SIGTERM");
    this.#deps.onChange();
  }

  /** Ends one container's process, as a crash would (drills). False when there is none of that name. */
  crash(container: string): boolean {
    const slot = this.#slots.find(({ plan }) => plan.name === container);
    if (slot?.process === undefined) return false;
    slot.process.signal("SIGKILL");
    return true;
  }

  /** Ends everything now. Resolves when no process of the Pod is left and all that they printed was handed on. */
  async end(): Promise<void> {
    this.#state = "ended";
    const ended = this.#slots.map(({ process }) => process?.ended);
    for (const slot of this.#slots) slot.cancelRestart?.();
    // The executor is left alive until its programs end with it: should this process be killed meanwhile, it ends them.
    this.#agent()?.process?.signal("SIGKILL");
    await this.#deps.processes.endPod(this.podUid);
    for (const slot of this.#slots) slot.process?.signal("SIGKILL");
    await Promise.all(ended);
    this.#deps.onChange();
  }

  #agent(): Slot | undefined {
    return this.#slots.find(({ plan }) => plan.args[0] === "agent");
  }

  #start(slot: Slot): void {
    const { deps, plan } = { deps: this.#deps, plan: slot.plan };
    const isAgent = plan.args[0] === "agent";
    const process = deps.processes.start({
      podUid: this.podUid,
      args: plan.args,
      env: isAgent ? { ...deps.agentEnv, ...plan.env } : plan.env,
      workingDirectory: deps.workingDirectory,
      errorLog: deps.errorLog(plan.name),
      onOutput: (line) => deps.onOutput(plan.name, line),
      onMessage: (message) => {
        if (slot.process === process && isAgent) this.#setReady(slot, isReadyMessage(message));
      },
    });
    slot.process = process;
    slot.startedAt = deps.clock.now();
    // Whether the executor works is the agent's judgement; it is ready only while it reaches the executor.
    if (!isAgent) slot.ready = true;
    void process.ended.then((how) => this.#onEnd(slot, how));
  }

  #setReady(slot: Slot, ready: boolean | undefined): void {
    if (ready === undefined || slot.ready === ready) return;
    slot.ready = ready;
    this.#deps.onChange();
  }

  async #onEnd(slot: Slot, how: string): Promise<void> {
    const lasted = this.#deps.clock.now() - slot.startedAt;
    slot.process = undefined;
    slot.ready = false;
    slot.lastEnd = how;
    if (this.#state === "ended") return;
    if (this.#state === "draining") {
      if (slot === this.#agent()) await this.end();
      return;
    }
    this.#deps.onChange();
    if (slot !== this.#agent()) await this.#endPrograms();
    if (this.#state !== "running") return;
    // A process that ran for ten minutes starts its back-off anew, as under the kubelet.
    const restarts = lasted > 600_000 ? 0 : slot.restarts;
    slot.restarts += 1;
    slot.cancelRestart = this.#deps.clock.after(restartBackOffMs(restarts), () => {
      slot.cancelRestart = undefined;
      if (this.#state !== "running") return;
      this.#start(slot);
      this.#deps.onChange();
    });
  }

  /** The programs of an executor that ended must not run on: nobody would know of them. */
  async #endPrograms(): Promise<void> {
    const others = this.#slots.filter(({ process }) => process !== undefined).map(({ process }) => process?.pid);
    await this.#deps.processes.endPod(this.podUid, new Set(others.filter((pid) => pid !== undefined)));
  }
}

function isReadyMessage(message: unknown): boolean | undefined {
  if (typeof message !== "object" || message === null || !("ready" in message)) return undefined;
  return typeof message.ready === "boolean" ? message.ready : undefined;
}
