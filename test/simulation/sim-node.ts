import { encodeRecord } from "#api/log-record.ts";
import { podVolumes } from "#api/pod-layout.ts";
import { createClient } from "#kube/client.ts";
import { nodeLayout } from "#local/node/layout.ts";
import type { Process, Processes, StartRequest } from "#local/node/processes.ts";
import { createAgent } from "#runtime/agent/agent.ts";
import { parseFlags } from "#runtime/agent/flags.ts";
import { createFilesystemStore } from "#runtime/artifacts/filesystem-store.ts";
import { defaultArtifactLimits } from "#runtime/artifacts/limits.ts";
import { MemoryFiles } from "#runtime/files/memory-files.ts";
import { type Files, FilesError } from "#runtime/files/port.ts";
import { defaultLogLimits } from "#runtime/logs/limits.ts";
import { noReferences } from "#runtime/references/port.ts";
import type { Defect } from "./defects.ts";
import type { Life } from "./life.ts";
import { nodeMachine, SimPod } from "./pod.ts";
import type { World } from "./world.ts";

interface Running extends Process {
  readonly life: Life;
}

/** Milliseconds between the start of a process and its first deed. */
const startup = { agent: [50, 600], executor: [20, 300] } as const;

export const layout = nodeLayout("/state");

/** The directory of the artifacts of a Run in a claim. */
const storedArtifacts = /\/runs\/([^/]+)\/artifacts$/;

const nothing: Process = { pid: 0, ended: new Promise(() => {}), signal() {} };

/** The machine that the Pods run on: their processes, volumes and claims. It stands below the real node of `local/`. */
export class SimNode {
  readonly pods = new Map<string, SimPod>();
  readonly #world: World;
  readonly #defect: Defect;
  readonly #processes = new Map<string, Map<number, Running>>();
  readonly #claims = new Map<string, MemoryFiles>();
  /** Claims cannot be used until then, on the monotonic clock. */
  #storeDownUntil = 0;
  #pids = 0;

  constructor(world: World, defect: Defect) {
    this.#world = world;
    this.#defect = defect;
  }

  /** The port of a node process. What it started ends with it: the channel to it breaks. */
  processesFor(node: Life): Processes {
    node.onEnd(() => {
      for (const uid of this.#processes.keys()) this.#endPod(uid);
    });
    return {
      // Only what waits for an answer stops at once when a process dies; a dead one starts nothing any more.
      start: (request) => (node.alive ? this.#start(node, request) : nothing),
      endPod: (uid, except) => node.call("processes.endPod", async () => this.#endPod(uid, except)),
    };
  }

  /** Removes the directory of a Pod. */
  async remove(path: string): Promise<void> {
    for (const pod of this.pods.values()) {
      if (layout.podDirectory(pod.uid) !== path) continue;
      this.#world.tell((rule) => rule.podRemoved?.(pod));
      this.pods.delete(pod.uid);
    }
  }

  /** Nobody can read or write a claim for so long. */
  breakStore(ms: number): void {
    this.#storeDownUntil = this.#world.clock.monotonic() + ms;
  }

  #start(node: Life, request: StartRequest): Process {
    const pod = this.#podOf(request);
    const [component = ""] = request.args;
    const kind = component === "agent" ? "agent" : "executor";
    const name = request.env.POD_NAME ?? pod.name;
    if (kind === "agent") pod.name = name;
    const life = this.#world.birth(kind, `${kind} of ${pod.name}`, nodeMachine);
    const { promise: ended, resolve } = Promise.withResolvers<string>();
    const pid = ++this.#pids;
    const processes = this.#processes.get(pod.uid) ?? new Map<number, Running>();
    this.#processes.set(pod.uid, processes);
    life.onEnd(() => {
      processes.delete(pid);
      // Who has died learns nothing any more.
      if (node.alive) resolve("signal SIGKILL");
    });
    let drain = () => life.end();
    const process: Running = { pid, life, ended, signal: (name) => (name === "SIGKILL" ? life.end() : drain()) };
    processes.set(pid, process);
    const [low, high] = startup[kind];
    life.clock.after(this.#world.faults.dice("startup").int(low, high), () => {
      if (kind === "executor") pod.bootExecutor(life);
      else drain = this.#startAgent(life, pod, request);
    });
    return process;
  }

  /** @returns what SIGTERM does */
  #startAgent(life: Life, pod: SimPod, request: StartRequest): () => void {
    const world = this.#world;
    const flags = parseFlags(request.args.slice(1), request.env);
    pod.capacity = flags.self.capacity;
    const random = world.faults.dice(`random of ${life.name}`).random;
    const line = world.network.connect(life);
    const agent = createAgent(
      {
        client: createClient(this.#defect.agents?.(line) ?? line),
        clock: life.clock,
        random,
        logger: world.logger(life),
        executor: life.guard("executor", this.#defect.executor?.(pod.executor) ?? pod.executor),
        files: life.guard("files", this.#defect.files?.(pod.files) ?? pod.files),
        store:
          flags.artifactRoot === undefined
            ? undefined
            : createFilesystemStore({
                files: life.guard("store", this.#claim(flags.artifactRoot)),
                owner: { clusterUid: flags.clusterUid, namespace: flags.self.namespace },
                random,
                ...(flags.artifactClaim === undefined ? {} : { volumeClaimName: flags.artifactClaim }),
              }),
        git: { fetch: () => Promise.reject(new Error("there is no git in the simulation")) },
        references: noReferences,
        sink: {
          write: (records) =>
            life.call("sink.write", async () => {
              for (const record of records) request.onOutput(Buffer.from(encodeRecord(record)));
            }),
        },
        self: flags.self,
        logLimits: defaultLogLimits,
        artifactLimits: defaultArtifactLimits,
        sweepIntervalMs: flags.sweepIntervalMs,
      },
      (ready) => {
        if (life.alive) request.onMessage({ ready });
      },
    );
    agent.start().catch((error: unknown) => {
      world.report("an agent starts", life.name, String(error));
      life.end();
    });
    return () => {
      world.trace.add(`${life.name} drains`);
      void agent.drain(flags.drainMs).then(() => {
        if (life.alive) world.trace.add(`${life.name} has drained`);
        life.end();
      });
    };
  }

  #podOf({ podUid }: StartRequest): SimPod {
    let pod = this.pods.get(podUid);
    if (pod === undefined) {
      pod = new SimPod(podUid, layout.podVolume(podUid, podVolumes.workspace), this.#world);
      this.pods.set(podUid, pod);
    }
    return pod;
  }

  #endPod(uid: string, except: ReadonlySet<number> = new Set()): void {
    for (const { pid, life } of [...(this.#processes.get(uid)?.values() ?? [])]) if (!except.has(pid)) life.end();
  }

  /** The volume of a claim, as an agent that mounts it sees it. */
  #claim(root: string): Files {
    const volume = this.#claims.get(root) ?? new MemoryFiles({ root, now: () => this.#world.clock.now() });
    this.#claims.set(root, volume);
    return new Proxy<MemoryFiles>(volume, {
      get: (target, key) => {
        const member: unknown = Reflect.get(target, key, target);
        if (typeof member !== "function") return member;
        return async (...args: unknown[]) => {
          if (this.#world.clock.monotonic() < this.#storeDownUntil) {
            throw new FilesError("Failed", String(args[0]), "input/output error");
          }
          const [, runUid] = storedArtifacts.exec(String(args[0])) ?? [];
          if (key === "remove" && runUid !== undefined) this.#world.tell((rule) => rule.removeStored?.(runUid));
          return Reflect.apply(member, target, args);
        };
      },
    });
  }
}
