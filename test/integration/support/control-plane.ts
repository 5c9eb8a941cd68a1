import { setImmediate as turn } from "node:timers/promises";
import type { KubeObject } from "#api/meta.ts";
import { type ControllerDeps, createInformers, type Informers, startInformers } from "#controllers/informers.ts";
import { createClient } from "#kube/client.ts";
import type { Controller } from "#kube/controller.ts";
import { memoryTransport } from "#kube/memory.ts";
import type { Client, ResourceType } from "#kube/resource.ts";
import { seededRandom } from "#kube/seeded-random.ts";
import { silentLogger } from "#kube/silent-logger.ts";
import { isNotFound } from "#kube/transport.ts";
import { VirtualClock } from "#kube/virtual-clock.ts";
import { type AdmissionRule, type ApiServer, createApiServer } from "#local/apiserver/index.ts";
import { platformCrds } from "#local/crds.ts";

/** Controllers on the embedded API server, under virtual time. */
export class ControlPlane {
  readonly clock = new VirtualClock();
  readonly api: ApiServer;
  readonly client: Client;
  readonly #ending = new AbortController();
  #controllers: Controller[] = [];

  /** @param admission rules beyond the schemas, for what a server refuses. */
  constructor(admission: readonly AdmissionRule[] = []) {
    this.api = createApiServer({ crds: platformCrds(), clock: this.clock, random: seededRandom(3), admission });
    this.client = createClient(memoryTransport(this.api, this.clock));
  }

  async start(create: (deps: ControllerDeps, informers: Informers) => Controller[]): Promise<void> {
    const deps = { client: this.client, clock: this.clock, random: seededRandom(5), logger: silentLogger };
    const informers = createInformers(deps);
    this.#controllers = create(deps, informers);
    const started = startInformers(informers, this.#ending.signal);
    let ready = false;
    void started.then(() => {
      ready = true;
    });
    await this.until(() => ready);
    for (const controller of this.#controllers) controller.start(this.#ending.signal);
    await this.settle();
  }

  stop(): void {
    this.#ending.abort();
    this.api.close();
  }

  /** Lets everything run that needs no time to pass. */
  async settle(): Promise<void> {
    for (let n = 0; n < 30; n++) await turn();
  }

  async elapse(ms: number): Promise<void> {
    await this.settle();
    await this.clock.elapse(ms);
    await this.settle();
  }

  async until(holds: () => boolean | Promise<boolean>, ms = 3_600_000): Promise<void> {
    const limit = this.clock.now() + ms;
    for (;;) {
      await this.settle();
      if (await holds()) return;
      if (this.clock.now() > limit || !this.clock.runNext()) throw new Error("it does not get there");
    }
  }

  async find<T extends KubeObject>(resource: ResourceType<T>, name: string): Promise<T | undefined> {
    try {
      return await this.client.of(resource).get({ name, namespace: "default" });
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  /** Creates an object with a status, moved there as the transition rules allow. */
  async create<T extends KubeObject & { status?: object }>(
    resource: ResourceType<T>,
    object: T,
    ...statuses: readonly NonNullable<T["status"]>[]
  ): Promise<T> {
    let made = await this.client.of(resource).create(object);
    for (const status of statuses) made = await this.client.of(resource).update({ ...made, status }, "status");
    return made;
  }
}
