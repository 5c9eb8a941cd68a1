import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseAllDocuments } from "yaml";
import type { Run } from "#api/kinds/run.ts";
import type { Runtime } from "#api/kinds/runtime.ts";
import type { WorkflowRun } from "#api/kinds/workflow-run.ts";
import type { KubeObject } from "#api/meta.ts";
import { actions, persistentWorkspaces, runs, runtimes, workflowRuns, workflows } from "#api/resources.ts";
import { createLogs, fromStart, type LogItem } from "#extension-api/client/logs.ts";
import { apiVersionOf, type Pod, persistentVolumeClaims, pods } from "#kube/builtin.ts";
import { httpTransport } from "#kube/http-transport.ts";
import type { Client, ResourceType } from "#kube/resource.ts";
import { silentLogger } from "#kube/silent-logger.ts";
import { systemClock, systemRandom } from "#kube/system.ts";
import type { Transport } from "#kube/transport.ts";
import { type Cluster, type ClusterOptions, startCluster } from "#local/cluster.ts";
import { until } from "./until.ts";

export const namespace = "default";

/** The claim and the Runtime that most tests use. */
export const claim = {
  metadata: { name: "artifacts", namespace },
  spec: { accessModes: ["ReadWriteMany"], resources: { requests: { storage: "1Gi" } } },
};

export function bashRuntime(change: Partial<Runtime["spec"]> = {}, name = "bash"): Runtime {
  return {
    metadata: { name, namespace },
    spec: {
      replicas: 1,
      capacity: { resources: { runs: 8 } },
      template: { spec: { containers: [{ name: "runtime", image: "debian" }] } },
      artifactStore: { driver: "Filesystem", filesystem: { volumeClaimName: "artifacts" } },
      ...change,
    },
  };
}

export function bashRun(name: string, script: string, change: Partial<Run["spec"]> = {}): Run {
  return { metadata: { name, namespace }, spec: { runtime: "bash", source: { inline: script }, ...change } };
}

export function workflowRun(name: string, jobs: NonNullable<WorkflowRun["spec"]["jobs"]>): WorkflowRun {
  return { metadata: { name, namespace }, spec: { jobs } };
}

/** A local cluster with real processes, for one test file. */
export class TestCluster {
  readonly cluster: Cluster;
  readonly client: Client;
  readonly directory: string;
  /** Over HTTP, with the token of the kubeconfig. */
  readonly transport: Transport;

  private constructor(cluster: Cluster, directory: string) {
    this.cluster = cluster;
    this.client = cluster.client;
    this.directory = directory;
    this.transport = httpTransport({
      server: cluster.url,
      credentials: async () => ({ headers: { authorization: `Bearer ${await this.token()}` } }),
      clock: systemClock,
      random: systemRandom,
      logger: silentLogger,
    });
  }

  async token(): Promise<string> {
    return (await readFile(`${this.directory}/token`, "utf8")).trim();
  }

  static async start(change: Pick<ClusterOptions, "jobWorkspaceTtlSeconds"> = {}): Promise<TestCluster> {
    const directory = await mkdtemp(join(tmpdir(), "krt-"));
    const cluster = await startCluster({
      stateDirectory: directory,
      entry: [process.execPath, resolve("bin/kruntimes.mjs")],
      clock: systemClock,
      random: systemRandom,
      logger: silentLogger,
      ...change,
    });
    return new TestCluster(cluster, directory);
  }

  async stop(): Promise<void> {
    await this.transport.close();
    await this.cluster.stop();
    await rm(this.directory, { recursive: true, force: true });
  }

  create<T extends KubeObject>(resource: ResourceType<T>, object: T): Promise<T> {
    return this.client.of(resource).create(object);
  }

  get<T extends KubeObject>(resource: ResourceType<T>, name: string): Promise<T> {
    return this.client.of(resource).get({ name, namespace });
  }

  /** Creates every object of a manifest file. */
  async apply(file: string): Promise<void> {
    for (const document of parseAllDocuments(await readFile(file, "utf8"))) {
      const object = document.toJS() as KubeObject;
      const resource = known.find((one) => one.kind === object.kind && apiVersionOf(one) === object.apiVersion);
      if (resource === undefined) throw new Error(`${file} has a ${object.kind}, which no test knows`);
      await this.create<KubeObject>(resource, { ...object, metadata: { ...object.metadata, namespace } });
    }
  }

  /**
   * Resolves with the object once it satisfies `holds`; driven by its watch.
   * @throws Error with the last state after `ms` milliseconds.
   */
  until<T extends KubeObject>(
    resource: ResourceType<T>,
    name: string,
    holds: (object: T) => boolean,
    ms = 20_000,
  ): Promise<T> {
    return until(this.client, resource, { name, namespace }, holds, ms);
  }

  /** Resolves when the Run has ended, however it did. */
  finished(name: string, ms?: number): Promise<Run> {
    return this.until(runs, name, (run) => run.status?.completionTime !== undefined, ms);
  }

  /** Resolves when the WorkflowRun has ended, however it did. */
  workflowFinished(name: string, ms?: number): Promise<WorkflowRun> {
    return this.until(workflowRuns, name, (run) => run.status?.completionTime !== undefined, ms);
  }

  /** All that a Run printed, once it has ended: also what was still on its way then. */
  async logOf(name: string): Promise<LogItem[]> {
    const logs = createLogs({ transport: this.client.transport, clock: systemClock, random: systemRandom });
    const all: LogItem[] = [];
    const items = await logs.getLogs(namespace, name, { follow: true, cursor: fromStart }).stream();
    for await (const item of items) all.push(item);
    return all;
  }

  /** Resolves when the Runtime has that many ready Pods. */
  async ready(runtime: string, replicas: number): Promise<readonly Pod[]> {
    await this.until(runtimes, runtime, (one) => one.status?.readyReplicas === replicas);
    return this.pods(runtime);
  }

  async pods(runtime: string): Promise<Pod[]> {
    const list = await this.client.of(pods).list({ namespace, labelSelector: `kruntimes.io/runtime=${runtime}` });
    return list.items.filter((pod) => pod.metadata.deletionTimestamp === undefined);
  }

  /** Deletes a Pod at once, as the loss of its node would. */
  async killPod(name: string): Promise<void> {
    await this.client.of(pods).delete({ name, namespace }, { gracePeriodSeconds: 0 });
  }
}

const known: readonly ResourceType<KubeObject>[] = [
  persistentVolumeClaims,
  runtimes,
  persistentWorkspaces,
  workflows,
  actions,
  runs,
  workflowRuns,
] as readonly ResourceType<KubeObject>[];
