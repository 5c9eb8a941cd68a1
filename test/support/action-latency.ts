/** How long a WorkflowAction takes from its creation to its answer, beside what one bare status write takes in the same minute. */
import type { WorkflowRun } from "#api/kinds/workflow-run.ts";
import { workflowActions, workflowRuns } from "#api/resources.ts";
import { withStatus } from "#api/status.ts";
import type { Client } from "#kube/resource.ts";
import { isNotFound } from "#kube/transport.ts";

export interface ActionLatency {
  /** WorkflowRuns that were in phase Running meanwhile. */
  readonly running: number;
  /** Median milliseconds of a status write of a WorkflowRun that nobody else looks at. */
  readonly floorMs: number;
  /** Median and 95th percentile of milliseconds from the call that creates the action to its answer as a watch shows it. */
  readonly p50Ms: number;
  readonly p95Ms: number;
  /** `p50Ms` in `floorMs`. */
  readonly ratio: number;
  /**
   * `p50Ms` in the median time of a bare write where six follow one another. Where many want the processor, what takes long is
   * interrupted and what is short is not: a chain of writes is, as an action is.
   */
  readonly ratioInChain: number;
}

export interface LatencyOptions {
  readonly client: Client;
  /** Where everything happens; it holds nothing else, and the caller deletes it. */
  readonly namespace: string;
  readonly samples: number;
}

/** Bare writes that follow one another, and what an action may cost. */
export const chainLength = 6;

/** Creations at a time. */
const lanes = 16;

/** Its finalizer keeps a run that is being deleted: no controller looks at it any more. */
const finalizer = "kruntimes.io/measured";

/** Runs whose only job waits for a place for its files, since there is no such Runtime; and actions on them. */
export class ActionBench {
  readonly #client: Client;
  readonly #namespace: string;
  readonly #samples: number;
  readonly #answers = new Map<string, (at: number) => void>();
  readonly #ending = new AbortController();
  #running = 0;
  #asked = 0;

  constructor({ client, namespace, samples }: LatencyOptions) {
    this.#client = client;
    this.#namespace = namespace;
    this.#samples = samples;
  }

  async start(): Promise<this> {
    const { resourceVersion } = (await this.#client.of(workflowActions).list({ namespace: this.#namespace })).metadata;
    void this.#watch(resourceVersion);
    const held = this.#run("held");
    await this.#client.of(workflowRuns).create({ ...held, metadata: { ...held.metadata, finalizers: [finalizer] } });
    await this.#untilRunning(["held"]);
    await this.#client.of(workflowRuns).delete(held.metadata);
    return this;
  }

  /** Ends what it has begun; the runs stay. */
  async stop(): Promise<void> {
    this.#ending.abort();
    const ref = { namespace: this.#namespace, name: "held" };
    await this.#client
      .of(workflowRuns)
      .patch(ref, { metadata: { finalizers: null } })
      .catch((error: unknown) => {
        if (!isNotFound(error)) throw error;
      });
  }

  /**
   * Resolves when so many runs are at work; not fewer than before.
   *
   * @param client who creates them, where that can be faster than who is measured
   */
  async prepare(running: number, client = this.#client): Promise<void> {
    const fresh = Array.from({ length: running }, (_, index) => `run-${index}`).slice(this.#running);
    this.#running = running;
    const rest = [...fresh];
    const lane = async () => {
      for (let name = rest.pop(); name !== undefined; name = rest.pop()) {
        await client.of(workflowRuns).create(this.#run(name));
      }
    };
    await Promise.all(Array.from({ length: lanes }, lane));
    await this.#untilRunning(fresh);
  }

  /** Measures actions on some of the runs, and bare writes between them. */
  async measure(): Promise<ActionLatency> {
    const running = this.#running;
    const floor: number[] = [];
    const chains: number[] = [];
    const times: number[] = [];
    const stride = Math.max(1, Math.floor(running / this.#samples));
    // The first ones warm up, and do not count.
    for (let sample = -4; sample < this.#samples; sample++) {
      const name = `run-${(Math.abs(sample) * stride) % running}`;
      const bare = await this.#bareWrites(1);
      const suspended = await this.#ask(name, "Suspend");
      const resumed = await this.#ask(name, "Resume");
      if (sample < 0) continue;
      floor.push(bare, await this.#bareWrites(1));
      chains.push(await this.#bareWrites(chainLength));
      times.push(suspended, resumed);
    }
    const floorMs = at(floor, 0.5);
    const p50Ms = at(times, 0.5);
    const ratioInChain = p50Ms / (at(chains, 0.5) / chainLength);
    return { running, floorMs, p50Ms, p95Ms: at(times, 0.95), ratio: p50Ms / floorMs, ratioInChain };
  }

  #run(name: string): WorkflowRun {
    const steps = [{ name: "wait", run: "true" }];
    return { metadata: { name, namespace: this.#namespace }, spec: { jobs: { a: { "runs-on": "none", steps } } } };
  }

  /** Milliseconds until the action is answered. */
  async #ask(name: string, action: "Suspend" | "Resume"): Promise<number> {
    const own = `ask-${++this.#asked}`;
    const answered = new Promise<number>((resolve) => this.#answers.set(own, resolve));
    const begun = performance.now();
    await this.#client.of(workflowActions).create({
      metadata: { name: own, namespace: this.#namespace },
      spec: { workflowRef: { name }, action },
    });
    return (await answered) - begun;
  }

  /** Milliseconds of status writes that follow one another. */
  async #bareWrites(count: number): Promise<number> {
    const held = this.#client.of(workflowRuns);
    let live = await held.get({ namespace: this.#namespace, name: "held" });
    const begun = performance.now();
    for (let left = count; left > 0; left--) {
      const message = `${performance.now()}`;
      live = await held.update(withStatus(live, { ...live.status, phase: "Running" as const, message }), "status");
    }
    return performance.now() - begun;
  }

  async #watch(resourceVersion: string | undefined): Promise<void> {
    const { signal } = this.#ending;
    const scope = { namespace: this.#namespace, signal, ...(resourceVersion !== undefined && { resourceVersion }) };
    try {
      for await (const event of await this.#client.of(workflowActions).watch(scope)) {
        if (event.type !== "ADDED" && event.type !== "MODIFIED") continue;
        const { metadata, status } = event.object;
        if (status?.phase !== "Succeeded" && status?.phase !== "Failed") continue;
        this.#answers.get(metadata.name)?.(performance.now());
        this.#answers.delete(metadata.name);
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  async #untilRunning(names: readonly string[]): Promise<void> {
    const open = new Set(names);
    const look = ({ metadata, status }: WorkflowRun) => {
      const waits = status?.conditions?.some(
        ({ type, status: holds }) => type === "WorkspaceReady" && holds === "False",
      );
      if (status?.phase === "Running" && waits) open.delete(metadata.name);
    };
    const signal = AbortSignal.timeout(300_000);
    const { items, metadata } = await this.#client.of(workflowRuns).list({ namespace: this.#namespace });
    for (const item of items) look(item);
    const { resourceVersion } = metadata;
    const scope = { namespace: this.#namespace, signal, ...(resourceVersion !== undefined && { resourceVersion }) };
    if (open.size === 0) return;
    for await (const event of await this.#client.of(workflowRuns).watch(scope)) {
      if (event.type === "ADDED" || event.type === "MODIFIED") look(event.object);
      if (open.size === 0) return;
    }
    throw new Error(`the watch ended, and ${open.size} runs are not at work`);
  }
}

/** The value at a share of the sorted list, from 0 to 1. */
function at(times: readonly number[], share: number): number {
  const sorted = times.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}
