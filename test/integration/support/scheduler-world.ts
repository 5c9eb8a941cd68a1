import { readdirSync, readFileSync } from "node:fs";
import { parse } from "yaml";
import type { PersistentWorkspace } from "#api/kinds/persistent-workspace.ts";
import type { Run, RunSpec, RunStatus } from "#api/kinds/run.ts";
import type { Runtime } from "#api/kinds/runtime.ts";
import { annotations, labels } from "#api/labels.ts";
import { persistentWorkspaces, runs, runtimes } from "#api/resources.ts";
import { createScheduler, type Scheduler } from "#controllers/scheduler/index.ts";
import { controllerReference, type Pod, pods, type ReplicaSet, replicaSets } from "#kube/builtin.ts";
import { createClient } from "#kube/client.ts";
import { memoryTransport } from "#kube/memory.ts";
import type { Logger } from "#kube/ports.ts";
import { seededRandom } from "#kube/seeded-random.ts";
import { silentLogger } from "#kube/silent-logger.ts";
import { VirtualClock } from "#kube/virtual-clock.ts";
import { type CustomResourceDefinition, createApiServer } from "#local/apiserver/index.ts";

const crds = readdirSync("crds").map((file) => parse(readFileSync(`crds/${file}`, "utf8")) as CustomResourceDefinition);
export const namespace = "default";

/** The embedded API server under virtual time, objects of a pool as its controllers would make them, and the scheduler. */
export class World {
  readonly clock = new VirtualClock();
  readonly random = seededRandom(1);
  readonly server = createApiServer({ crds, clock: this.clock, random: this.random });
  readonly client = createClient(memoryTransport(this.server, this.clock));
  readonly errors: string[] = [];
  scheduler: Scheduler | undefined;

  async start(): Promise<void> {
    const logger: Logger = {
      ...silentLogger,
      error: (message, fields) => this.errors.push(`${message} ${fields?.error}`),
    };
    this.scheduler = createScheduler({ client: this.client, clock: this.clock, random: this.random, logger });
    await this.scheduler.start(new AbortController().signal);
    await this.settle();
  }

  async stop(): Promise<void> {
    await this.scheduler?.stop();
    this.scheduler = undefined;
  }

  /** Lets everything happen that needs no time; the sources of a Run travel over several promises. */
  async settle(): Promise<void> {
    for (let turn = 0; turn < 20; turn++) await this.clock.elapse(0);
  }

  async elapse(ms: number): Promise<void> {
    await this.clock.elapse(ms);
    await this.settle();
  }

  async runtime(name = "bash", runsPerPod = 2): Promise<Runtime> {
    return this.client.of(runtimes).create({
      metadata: { name, namespace },
      spec: {
        template: { spec: { containers: [{ name: "runtime", image: "bash:5" }] } },
        capacity: { resources: { runs: runsPerPod } },
      },
    });
  }

  async replicaSet(runtime: Runtime, name = `runtime-${runtime.metadata.name}-1`): Promise<ReplicaSet> {
    const identity = { [labels.runtime]: runtime.metadata.name };
    return this.client.of(replicaSets).create({
      metadata: { name, namespace, labels: identity, ownerReferences: [controllerReference(runtimes, runtime)] },
      spec: {
        selector: { matchLabels: identity },
        template: { metadata: { labels: identity }, spec: { containers: [{ name: "runtime" }] } },
      },
    });
  }

  async pod(set: ReplicaSet, name: string, runsPerPod = 2, ready = true): Promise<Pod> {
    const pod = await this.client.of(pods).create({
      metadata: {
        name,
        namespace,
        labels: { [labels.runtime]: set.metadata.labels?.[labels.runtime] ?? "" },
        annotations: { [annotations.capacity]: JSON.stringify({ runs: runsPerPod }) },
        ownerReferences: [controllerReference(replicaSets, set)],
      },
      spec: { containers: [{ name: "runtime", image: "bash:5" }] },
    });
    return this.setReady(pod, ready);
  }

  async setReady(pod: Pod, ready: boolean): Promise<Pod> {
    const status = { phase: "Running", conditions: [{ type: "Ready", status: ready ? "True" : "False" }] };
    return this.client.of(pods).patch(pod.metadata, { status }, { subresource: "status" });
  }

  /** A Runtime with ready Pods `p1`, `p2`, ... */
  async pool(count: number, runsPerPod = 2): Promise<Pod[]> {
    const set = await this.replicaSet(await this.runtime("bash", runsPerPod));
    const made: Pod[] = [];
    for (let i = 1; i <= count; i++) made.push(await this.pod(set, `p${i}`, runsPerPod));
    return made;
  }

  async run(name: string, spec: Partial<RunSpec> = {}, own: Record<string, string> = {}): Promise<Run> {
    return this.client.of(runs).create({
      metadata: { name, namespace, labels: own },
      spec: { runtime: "bash", source: { inline: "true" }, ...spec },
    });
  }

  async boundWorkspace(name: string, pod: Pod): Promise<PersistentWorkspace> {
    const made = await this.client
      .of(persistentWorkspaces)
      .create({ metadata: { name, namespace }, spec: { runtime: "bash" } });
    return this.setWorkspace(made, {
      phase: "Bound",
      runtime: "bash",
      boundPod: pod.metadata.name,
      boundPodUID: pod.metadata.uid ?? "",
      path: `/workspace/persistent/${name}`,
    });
  }

  setWorkspace(workspace: PersistentWorkspace, status: PersistentWorkspace["status"]): Promise<PersistentWorkspace> {
    return this.client.of(persistentWorkspaces).patch(workspace.metadata, { status }, { subresource: "status" });
  }

  async status(name: string): Promise<RunStatus> {
    const run = await this.client.of(runs).get({ namespace, name });
    return run.status ?? { phase: "Pending" };
  }

  /** Writes a status as the agent of the Pod would. */
  async agent(name: string, status: Partial<RunStatus>): Promise<void> {
    const live = await this.client.of(runs).get({ namespace, name });
    await this.client
      .of(runs)
      .update({ ...live, status: { ...(live.status ?? { phase: "Pending" }), ...status } }, "status");
    await this.settle();
  }

  claim(name: string): Promise<void> {
    return this.agent(name, { phase: "Running", attempt: 1, startTime: new Date(this.clock.now()).toISOString() });
  }

  statusWrites(): number {
    return this.server.counters.count("patch", "runs.kruntimes.io", "status");
  }
}
