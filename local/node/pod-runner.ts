import { timestamp } from "#api/time.ts";
import type { ContainerStatus } from "#kube/builtin.ts";
import { asError } from "#kube/outcome.ts";
import type { Cancel, Clock, Logger } from "#kube/ports.ts";
import type { ContainerPlan } from "./pod-plan.ts";
import type { Process, Processes, StartRequest } from "./processes.ts";

/** Back-off of a container that ends: at once, then from 1 s doubling to 30 s (the kubelet starts at 10 s). */
const restartBackOffMs = (failures: number) => (failures === 0 ? 0 : Math.min(30_000, 1000 * 2 ** (failures - 1)));

/** A process that ran for ten minutes starts its back-off anew, as under the kubelet. */
const soundMs = 600_000;

export interface RunnerDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly processes: Processes;
  /** Variables that the agent gets: how to reach the API server. User code must never see them. */
  readonly agentEnv: Readonly<Record<string, string>>;
  readonly workingDirectory: string;
  readonly errorLog: (container: string) => string;
  readonly onOutput: (container: string, lines: Uint8Array) => void;
  /** Something that the Pod's status shows has changed. */
  readonly onChange: () => void;
}

interface Slot {
  readonly plan: ContainerPlan;
  process: Process | undefined;
  ready: boolean;
  restarts: number;
  /** Ends in a row that came soon after their start. */
  failures: number;
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
      failures: 0,
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
    if (agent?.process === undefined) this.#inBackground(this.end());
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
    slot.startedAt = deps.clock.now();
    const process = this.#tryStart({
      podUid: this.podUid,
      args: plan.args,
      env: isAgent ? { ...deps.agentEnv, ...plan.env } : plan.env,
      workingDirectory: deps.workingDirectory,
      errorLog: deps.errorLog(plan.name),
      onOutput: (lines) => deps.onOutput(plan.name, lines),
      onMessage: (message) => {
        if (slot.process === process && isAgent) this.#setReady(slot, isReadyMessage(message));
      },
    });
    if (typeof process === "string") {
      this.#inBackground(this.#onEnd(slot, process));
      return;
    }
    slot.process = process;
    // Whether the executor works is the agent's judgement; it is ready only while it reaches the executor.
    if (!isAgent) slot.ready = true;
    this.#inBackground(process.ended.then((how) => this.#onEnd(slot, how)));
  }

  /** The process, or why there is none: the machine may be out of files or processes for a while. */
  #tryStart(request: StartRequest): Process | string {
    try {
      return this.#deps.processes.start(request);
    } catch (error) {
      return `could not be started: ${asError(error).message}`;
    }
  }

  /** An error that nobody waits for must not end the whole cluster. */
  #inBackground(work: Promise<void>): void {
    work.catch((error: unknown) => {
      this.#deps.logger.error("the processes of a Pod cannot be managed", { podUid: this.podUid, error });
    });
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
    if (lasted > soundMs) slot.failures = 0;
    const delay = restartBackOffMs(slot.failures);
    slot.failures += 1;
    slot.restarts += 1;
    slot.cancelRestart = this.#deps.clock.after(delay, () => {
      slot.cancelRestart = undefined;
      if (this.#state !== "running") return;
      this.#start(slot);
      this.#deps.onChange();
    });
  }

  /** The programs of an executor that ended must not run on: nobody would know of them. */
  async #endPrograms(): Promise<void> {
    const others = this.#slots.map(({ process }) => process?.pid).filter((pid) => pid !== undefined);
    try {
      await this.#deps.processes.endPod(this.podUid, new Set(others));
    } catch (error) {
      // The container is started again all the same; the end of the Pod ends them.
      this.#deps.logger.warn("programs of an executor that ended may run on", { podUid: this.podUid, error });
    }
  }
}

function isReadyMessage(message: unknown): boolean | undefined {
  if (typeof message !== "object" || message === null || !("ready" in message)) return undefined;
  return typeof message.ready === "boolean" ? message.ready : undefined;
}
