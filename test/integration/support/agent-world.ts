import { setImmediate as turn } from "node:timers/promises";
import type { PersistentWorkspace } from "#api/kinds/persistent-workspace.ts";
import type { Run, RunSpec, RunStatus } from "#api/kinds/run.ts";
import { persistentWorkspaces, runs } from "#api/resources.ts";
import { createClient } from "#kube/client.ts";
import { memoryTransport } from "#kube/memory.ts";
import type { Client } from "#kube/resource.ts";
import { seededRandom } from "#kube/seeded-random.ts";
import { silentLogger } from "#kube/silent-logger.ts";
import { isConflict } from "#kube/transport.ts";
import { VirtualClock } from "#kube/virtual-clock.ts";
import { type ApiServer, createApiServer } from "#local/apiserver/index.ts";
import { platformCrds } from "#local/crds.ts";
import { step } from "#machines/lib/settle.ts";
import { type RunEvent, restoreRun, runMachine, runStatus } from "#machines/run.ts";
import { type Agent, createAgent } from "#runtime/agent/agent.ts";
import { createFilesystemStore } from "#runtime/artifacts/filesystem-store.ts";
import { defaultArtifactLimits } from "#runtime/artifacts/limits.ts";
import { memoryVolume } from "#runtime/artifacts/memory-store.ts";
import type { ArtifactStore } from "#runtime/artifacts/store.ts";
import type { ExecuteRequest } from "#runtime/executor-client.ts";
import { MemoryFiles } from "#runtime/files/memory-files.ts";
import type { Files } from "#runtime/files/port.ts";
import { defaultLogLimits } from "#runtime/logs/limits.ts";
import { MemorySink } from "#runtime/logs/memory-sink.ts";
import { MemoryReferences } from "#runtime/references/memory-references.ts";
import { SimulatedExecutor } from "#runtime/simulated-executor.ts";
import type { SimulatedProgram } from "#runtime/simulated-program.ts";
import { counted } from "./counted-files.ts";

export const pod = { name: "runtime-bash-1", uid: "pod-uid" };
const namespace = "default";

export interface Volumes {
  /** What is mounted at `/workspace`. */
  readonly files: Files;
  /** What is mounted for the artifact store. */
  readonly volume: Files;
}

/** Told before and after each call that an agent makes of the world; may end the agent there. */
export type Watcher = (point: string, when: "before" | "after") => void;

/**
 * One Pod with a real agent on the embedded API server, under virtual time. The executor is simulated, files and
 * artifacts are in memory unless volumes are given; all of them outlive the agent, as they do in a Pod.
 */
export class AgentWorld {
  readonly clock = new VirtualClock();
  readonly random = seededRandom(7);
  readonly api: ApiServer;
  readonly client: Client;
  readonly files: Files;
  readonly volume: Files;
  readonly store: ArtifactStore;
  readonly sink = new MemorySink();
  readonly references = new MemoryReferences();
  readonly executor: SimulatedExecutor;
  /** What the program of a Run does, by the name of the Run. */
  readonly programs = new Map<string, (attempt: number) => SimulatedProgram>();
  watcher: Watcher = () => {};
  /** Asked before each such call: what the call waits for, if it is to wait; it fails as that does. */
  hold: (point: string, args: readonly unknown[]) => Promise<void> | undefined = () => undefined;
  /** The Pod whose agent is started next. */
  identity = pod;
  hasStore = true;
  runtimeUid = "runtime-uid";
  agent: Agent | undefined;
  #alive = { yes: false };
  /** Calls of volumes that are under way. */
  #busy = 0;

  constructor({ files, volume }: Partial<Volumes> = {}) {
    const { clock, random } = this;
    this.api = createApiServer({ crds: platformCrds(), clock, random });
    this.client = createClient(memoryTransport(this.api, clock));
    this.files = this.#counted(files ?? new MemoryFiles({ root: "/workspace", now: () => clock.now() }));
    this.volume = this.#counted(volume ?? memoryVolume({ now: () => clock.now() }));
    const owner = { clusterUid: "cluster", namespace };
    this.store = createFilesystemStore({ owner, random, files: this.volume, volumeClaimName: "store" });
    this.executor = new SimulatedExecutor({
      clock,
      random,
      program: (request) => this.#program(request),
      writeFile: async (path, content) => this.files.writeFile(path, content),
    });
  }

  #program({ platformEnv = {}, attempt }: ExecuteRequest): SimulatedProgram {
    const program = this.programs.get(platformEnv.KRUNTIME_RUN_NAME ?? "");
    return program?.(attempt) ?? { durationMs: 10 };
  }

  /** Virtual time stands still while a call of a volume is under way: real ones take real time. */
  #counted(files: Files): Files {
    return counted(files, (change) => {
      this.#busy += change;
    });
  }

  /** Starts an agent process. */
  start(): void {
    const alive = { yes: true };
    this.#alive = alive;
    const guarded = <T extends object>(name: string, port: T): T => this.#guard(name, port, alive);
    this.agent = createAgent({
      client: createClient(guarded("api", memoryTransport(this.api, this.clock))),
      clock: this.clock,
      random: this.random,
      logger: silentLogger,
      executor: guarded("executor", this.executor),
      files: guarded("files", this.files),
      store: this.hasStore ? guarded("store", this.store) : undefined,
      git: { fetch: () => Promise.reject(new Error("no git here")) },
      references: guarded("references", this.references),
      sink: guarded("sink", this.sink),
      self: {
        pod: this.identity.name,
        podUid: this.identity.uid,
        namespace,
        runtime: "bash",
        runtimeUid: this.runtimeUid,
        capacity: { runs: 4 },
      },
      logLimits: defaultLogLimits,
      artifactLimits: defaultArtifactLimits,
      sweepIntervalMs: 3_600_000,
    });
    void this.agent.start().catch(() => {}); // a crash during the start
  }

  /** Ends the agent as SIGKILL would: nothing that it still does reaches the world. */
  crash(): void {
    this.#alive.yes = false;
    this.agent?.stop();
    this.agent = undefined;
  }

  /** Every call of a port is a point at which the agent may die; a dead agent's calls never arrive. */
  #guard<T extends object>(name: string, port: T, alive: { yes: boolean }): T {
    const dead = () => new Error("the agent is dead");
    return new Proxy(port, {
      get: (target, key) => {
        const member: unknown = Reflect.get(target, key, target);
        if (typeof member !== "function" || typeof key !== "string") return member;
        // Yields one thing after the other, in between the agent makes other calls.
        if (name === "store" && key === "list") return member.bind(target);
        return async (...args: unknown[]) => {
          const point = `${name}.${key}${key === "request" ? ` ${(args[0] as { method: string }).method}` : ""}`;
          if (!alive.yes) throw dead();
          this.watcher(point, "before");
          const hold = this.hold(point, args);
          if (hold !== undefined) await hold;
          if (!alive.yes) throw dead();
          const result: unknown = await Reflect.apply(member, target, args);
          if (!alive.yes) throw dead();
          this.watcher(point, "after");
          if (!alive.yes) throw dead();
          return result;
        };
      },
    });
  }

  async createRun(name: string, spec: Partial<RunSpec> = {}): Promise<Run> {
    const source = { inline: "exit" };
    return this.client.of(runs).create({ metadata: { name, namespace }, spec: { runtime: "bash", source, ...spec } });
  }

  /** Moves a Run as its scheduler (or another writer) would. */
  async move(name: string, event: RunEvent): Promise<Run> {
    for (;;) {
      const run = await this.run(name);
      const status = runStatus(step(runMachine, restoreRun(run.status), event).snapshot);
      try {
        return await this.client.of(runs).update({ ...run, status }, "status");
      } catch (error) {
        if (!isConflict(error)) throw error;
      }
    }
  }

  assign(name: string): Promise<Run> {
    const { name: podName, uid } = this.identity;
    return this.move(name, { type: "ASSIGN", pod: podName, podUID: uid, now: this.clock.now() });
  }

  run(name: string): Promise<Run> {
    return this.client.of(runs).get({ name, namespace });
  }

  async status(name: string): Promise<RunStatus> {
    return (await this.run(name)).status ?? { phase: "Pending" };
  }

  /** A workspace that is bound to this Pod. */
  async createWorkspace(name: string): Promise<PersistentWorkspace> {
    const made = await this.client.of(persistentWorkspaces).create({
      metadata: { name, namespace, finalizers: ["kruntimes.io/persistent-workspace-cleanup"] },
      spec: { runtime: "bash" },
    });
    const status = { phase: "Bound" as const, boundPod: pod.name, boundPodUID: pod.uid };
    return this.client.of(persistentWorkspaces).update({ ...made, status }, "status");
  }

  /** Lets time pass, timer by timer, until `holds`; fails after so many virtual milliseconds. */
  async until(holds: () => Promise<boolean> | boolean, ms = 600_000): Promise<void> {
    const limit = this.clock.now() + ms;
    for (;;) {
      // Several turns: a chain of promises through the API server takes more than one.
      for (let n = 0; n < 4; n = this.#busy > 0 ? 0 : n + 1) await turn();
      if (await holds()) return;
      if (this.clock.now() > limit || !this.clock.runNext()) throw new Error("it does not get there");
    }
  }

  /** Until the Run has ended, or waits to be placed again. */
  async untilOver(name: string): Promise<RunStatus> {
    await this.until(async () => !["Scheduled", "Running"].includes((await this.status(name)).phase));
    return this.status(name);
  }
}
