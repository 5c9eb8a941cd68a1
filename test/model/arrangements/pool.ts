import type { Runtime } from "#api/kinds/runtime.ts";
import { annotations, labels } from "#api/labels.ts";
import { runtimes } from "#api/resources.ts";
import { controllerReference, type Pod, pods, type ReplicaSet, replicaSets } from "#kube/builtin.ts";
import type { Client } from "#kube/resource.ts";

export const namespace = "default";

const containers = [{ name: "runtime", image: "bash:5" }];
const labelled = { [labels.runtime]: "bash" };

/** The objects of a Runtime `bash`, as the pool controller and the kubelets would make them. */
export class Pool {
  readonly #client: Client;
  #made = 0;

  constructor(client: Client) {
    this.#client = client;
  }

  async createRuntime(change: Partial<Runtime["spec"]> = {}): Promise<void> {
    const runtime = await this.#client.of(runtimes).create({
      metadata: { name: "bash", namespace },
      spec: { template: { spec: { containers } }, capacity: { resources: { runs: 4 } }, ...change },
    });
    await this.#client.of(replicaSets).create({
      metadata: { name: "runtime-bash-1", namespace, labels: labelled, ownerReferences: [owner(runtime)] },
      spec: { selector: { matchLabels: labelled }, template: { metadata: { labels: labelled }, spec: { containers } } },
    });
  }

  async ensureRuntime(): Promise<void> {
    const { items } = await this.#client.of(runtimes).list({ namespace });
    if (items.length === 0) await this.createRuntime();
  }

  /** The Runtime with one ready Pod of that name. */
  async ensurePod(name: string): Promise<void> {
    await this.ensureRuntime();
    const { items } = await this.#client.of(pods).list({ namespace });
    if (!items.some(({ metadata }) => metadata.name === name)) await this.createPod(name);
  }

  deleteRuntime(): Promise<unknown> {
    return this.#client.of(runtimes).delete({ name: "bash", namespace });
  }

  /** Another Pod, ready to take work. */
  async createPod(name = `runtime-bash-1-${this.#made++}`): Promise<Pod> {
    const set = await this.#client.of(replicaSets).get({ name: "runtime-bash-1", namespace });
    const made = await this.#client.of(pods).create({
      metadata: {
        name,
        namespace,
        labels: labelled,
        annotations: { [annotations.capacity]: JSON.stringify({ runs: 4 }) },
        ownerReferences: [controllerReference<ReplicaSet>(replicaSets, set)],
      },
      spec: { containers, nodeName: "node" },
    });
    return this.setReady(made.metadata.name, true);
  }

  setReady(name: string, ready: boolean): Promise<Pod> {
    const status = { phase: "Running", conditions: [{ type: "Ready", status: ready ? "True" : "False" }] };
    return this.#client.of(pods).patch({ name, namespace }, { status }, { subresource: "status" });
  }

  /** Deletes a Pod at once, as the loss of its node would. */
  deletePod(name: string): Promise<unknown> {
    return this.#client.of(pods).delete({ name, namespace }, { gracePeriodSeconds: 0 });
  }
}

const owner = (runtime: Runtime) => controllerReference(runtimes, runtime);
