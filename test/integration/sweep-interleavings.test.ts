/**
 * Sweeps, uploads, deletions, retries and crashes at the same time, call by call in an order that is drawn. Everything counts as old
 * enough to be removed, as with clocks that are far apart: only references protect it.
 */
import fc from "fast-check";
import { expect, test } from "vitest";
import type { ArtifactRef } from "#api/kinds/artifact-ref.ts";
import type { Run, RunStatus } from "#api/kinds/run.ts";
import type { KubeObject } from "#api/meta.ts";
import { runs, workflowRuns } from "#api/resources.ts";
import { isTerminal } from "#api/runs.ts";
import { timestamp } from "#api/time.ts";
import { controllerReference } from "#kube/builtin.ts";
import { createClient } from "#kube/client.ts";
import { memoryTransport } from "#kube/memory.ts";
import { orNothing } from "#kube/or-nothing.ts";
import type { Client, ResourceType } from "#kube/resource.ts";
import { seededRandom } from "#kube/seeded-random.ts";
import { silentLogger } from "#kube/silent-logger.ts";
import { isConflict, isNotFound } from "#kube/transport.ts";
import { VirtualClock } from "#kube/virtual-clock.ts";
import { createApiServer } from "#local/apiserver/index.ts";
import { platformCrds } from "#local/crds.ts";
import { sweepArtifacts } from "#runtime/agent/artifact-sweep.ts";
import { createFilesystemStore } from "#runtime/artifacts/filesystem-store.ts";
import { runUidOf } from "#runtime/artifacts/location.ts";
import { memoryVolume } from "#runtime/artifacts/memory-store.ts";
import type { ArtifactStore } from "#runtime/artifacts/store.ts";
import { Interleaving, Killed } from "#test/support/interleaving.ts";

const namespace = "default";
const owner = { clusterUid: "cluster", namespace };

async function* bytes() {
  yield Buffer.from("data");
}

/** What failed is tried again, or looked at; who was killed does neither. */
function unlessKilled(error: unknown): undefined {
  if (error instanceof Killed) throw error;
}

class Episode {
  readonly random;
  readonly clock = new VirtualClock();
  readonly api;
  readonly order;
  readonly volume = memoryVolume({ now: () => this.clock.now() });
  /** Looks at everything at once. */
  readonly god: Client;
  /** UIDs of Runs that are there, or whose artifacts have been referred to without a break since they were; and whether they have any. */
  readonly #referred = new Map<string, boolean>();
  /** Those to which nobody referred for a moment: whoever refers to them later has found a name, and no promise. */
  readonly #given = new Set<string>();
  /** How many of the actors that refer to something are at work. */
  #working = 0;

  constructor(seed: number) {
    this.random = seededRandom(seed);
    this.api = createApiServer({ crds: platformCrds(), clock: this.clock, random: seededRandom(seed + 1) });
    this.order = new Interleaving(this.random);
    this.god = createClient(memoryTransport(this.api, this.clock));
    this.order.onTurn = (call) => this.#check(call);
  }

  client(deathRate = 0): Client {
    return createClient(this.order.guard(memoryTransport(this.api, this.clock), deathRate));
  }

  store(deathRate = 0): ArtifactStore {
    const files = this.order.guard(this.volume, deathRate);
    return createFilesystemStore({ files, owner, random: this.random, volumeClaimName: "store" });
  }

  async #list<T extends KubeObject>(resource: ResourceType<T>): Promise<T[]> {
    return (await this.god.of(resource).list({ namespace })).items;
  }

  /** UIDs of all Runs whose artifacts somebody has a right to find. */
  async referred(): Promise<Set<string>> {
    const found = new Set<string>();
    const add = (refs: Iterable<Pick<ArtifactRef, "location">>) => {
      for (const ref of refs) found.add(runUidOf(ref) ?? "");
    };
    for (const { status } of await this.#list(workflowRuns)) {
      for (const job of Object.values(status?.jobs ?? {})) add(Object.values(job.artifacts ?? {}));
    }
    for (const { metadata, spec, status } of await this.#list(runs)) {
      found.add(metadata.uid ?? "");
      add(status?.artifactRefs ?? []);
      if (!isTerminal(status?.phase)) add((spec.artifactInputs ?? []).map(({ ref }) => ref));
    }
    return found;
  }

  /** After each call: what is referred to without a break is there. */
  async #check(call: string): Promise<void> {
    if (call === "request") {
      const referred = await this.referred();
      for (const uid of this.#referred.keys()) {
        if (referred.has(uid)) continue;
        this.#referred.delete(uid);
        this.#given.add(uid);
      }
      for (const uid of referred) if (!this.#given.has(uid) && !this.#referred.has(uid)) this.#referred.set(uid, false);
    }
    for (const [uid, wasStored] of this.#referred) {
      const isStored = await this.isStored(uid);
      if (wasStored) expect([uid, isStored]).toEqual([uid, true]);
      else this.#referred.set(uid, isStored);
    }
  }

  async isStored(uid: string): Promise<boolean> {
    return (await this.volume.stat(`${this.volume.root}/runs/${uid}/artifacts/out`)) !== undefined;
  }

  /** The agent of a Run: stages its inputs, stores an artifact, and reports. Killed at some calls, it begins again. */
  async agent(name: string): Promise<void> {
    for (;;) {
      try {
        if (await this.#attempt(name)) return;
      } catch (error) {
        if (!(error instanceof Killed)) throw error;
      }
    }
  }

  async #attempt(name: string): Promise<boolean> {
    const client = this.client(0.03);
    const store = this.store(0.03);
    const run = await orNothing(client.of(runs).get({ name, namespace }));
    if (run === undefined || isTerminal(run.status?.phase)) return true;
    const { uid = "" } = run.metadata;
    for (const { ref } of run.spec.artifactInputs ?? []) {
      const opened = await store.open(ref).catch(unlessKilled);
      if (opened !== undefined) await opened.close();
      else if (this.#referred.get(runUidOf(ref) ?? "")) throw new Error(`the input of ${name} is gone`);
    }
    // As an agent does with a store that fails: it asks again as long as the Run is there.
    const stored = await store.put({ runUid: uid, name: "out" }, bytes(), { maxBytes: 100 }).catch(unlessKilled);
    if (stored === undefined) return false;
    const ref: ArtifactRef = { name: "out", driver: "Filesystem", type: "File", ...stored };
    return this.#report(client, run, { phase: "Succeeded", artifactRefs: [ref] });
  }

  async #report(client: Client, run: Run, end: Partial<RunStatus>): Promise<boolean> {
    const status = {
      attempt: 1,
      assignedPod: "p",
      assignedPodUID: "u",
      assignmentEpoch: 1,
      startTime: timestamp(this.clock.now()),
    };
    const write = async (object: Run, next: RunStatus): Promise<Run> =>
      client.of(runs).update({ ...object, status: next }, "status");
    try {
      const { attempt: _, startTime: __, ...placed } = status;
      const phase = run.status?.phase ?? "Pending";
      let next = phase === "Pending" ? await write(run, { phase: "Scheduled", ...placed }) : run;
      if (next.status?.phase === "Scheduled") next = await write(next, { phase: "Running", ...status });
      await write(next, { ...status, completionTime: timestamp(this.clock.now()), ...end } as RunStatus);
      return true;
    } catch (error) {
      if (isNotFound(error)) return true;
      if (isConflict(error)) return false;
      throw error;
    }
  }

  /** A WorkflowRun: a Run makes an artifact, the status takes the reference over, another Run consumes it; perhaps again. */
  async workflow(name: string, attempts: number): Promise<void> {
    this.#working++;
    const client = this.client();
    const jobs = { build: { "runs-on": "bash", steps: [{ name: "s", run: "true" }] } };
    const flow = await client.of(workflowRuns).create({ metadata: { name, namespace }, spec: { jobs } });
    const children: string[] = [];
    const isThere = async () =>
      (await orNothing(client.of(workflowRuns).get({ name, namespace })))?.metadata.uid !== undefined;
    const child = async (title: string, inputs: readonly ArtifactRef[]): Promise<Run | undefined> => {
      children.push(title);
      await client.of(runs).create({
        metadata: { name: title, namespace, ownerReferences: [controllerReference(workflowRuns, flow)] },
        spec: {
          runtime: "bash",
          source: { inline: "x" },
          artifactInputs: inputs.map((ref, n) => ({ ref, path: `in-${n}` })),
        },
      });
      await this.agent(title);
      return orNothing(client.of(runs).get({ name: title, namespace }));
    };
    for (let attempt = 1; attempt <= attempts && (await isThere()); attempt++) {
      const producer = await child(`${name}-${attempt}-make`, []);
      const refs = producer?.status?.artifactRefs ?? [];
      if (refs.length === 0 || !(await this.#record(client, name, refs))) continue;
      await child(`${name}-${attempt}-take`, refs);
    }
    // What Kubernetes does some time after the owner has gone.
    while (await isThere()) if (this.random.next() < 0.3) await this.#remove(client, workflowRuns, name);
    for (const title of children) await this.#remove(client, runs, title);
    this.#working--;
  }

  /** Takes references over into the status, if the WorkflowRun is still there. */
  async #record(client: Client, name: string, refs: readonly ArtifactRef[]): Promise<boolean> {
    for (;;) {
      const flow = await orNothing(client.of(workflowRuns).get({ name, namespace }));
      if (flow === undefined) return false;
      const artifacts = Object.fromEntries(refs.map((ref) => [ref.name, ref]));
      const status = { phase: "Running" as const, jobs: { build: { phase: "Running" as const, artifacts } } };
      try {
        await client.of(workflowRuns).update({ ...flow, status }, "status");
        return true;
      } catch (error) {
        if (!isConflict(error) && !isNotFound(error)) throw error;
      }
    }
  }

  /** Deletes Runs of others, whatever they are at; and makes Runs that take the artifacts of others before it deletes those. */
  async meddler(): Promise<void> {
    const client = this.client();
    for (let n = 0; this.#working > 0; n++) {
      const { items } = await client.of(runs).list({ namespace });
      const victim = items[Math.floor(this.random.next() * items.length)];
      if (victim === undefined || this.random.next() < 0.7) continue;
      const refs = victim.status?.artifactRefs ?? [];
      if (refs.length > 0 && this.random.next() < 0.5) {
        const title = `mine-${n}`;
        await client.of(runs).create({
          metadata: { name: title, namespace },
          spec: { runtime: "bash", source: { inline: "x" }, artifactInputs: refs.map((ref) => ({ ref, path: "in" })) },
        });
        await this.#remove(client, runs, victim.metadata.name);
        await this.agent(title);
        await this.#remove(client, runs, title);
      } else if (this.random.next() < 0.3) {
        await this.#remove(client, runs, victim.metadata.name);
      }
    }
  }

  async #remove<T extends KubeObject>(client: Client, resource: ResourceType<T>, name: string): Promise<void> {
    await client
      .of(resource)
      .delete({ name, namespace }, { propagationPolicy: "Orphan" })
      .catch((error: unknown) => {
        if (!isNotFound(error)) throw error;
      });
  }

  /** Sweeps one time after the other, killed now and then. */
  async sweeper(): Promise<void> {
    while (this.#working > 0) {
      const deps = { client: this.client(0.02), store: this.store(0.02) };
      await this.sweep(deps).catch((error: unknown) => {
        if (!(error instanceof Killed)) throw error;
      });
    }
  }

  async sweep(deps: { readonly client: Client; readonly store: ArtifactStore }): Promise<readonly string[]> {
    const { clock } = this;
    return sweepArtifacts({ ...deps, clock, logger: silentLogger, namespace }, 0, new AbortController().signal);
  }

  async run(): Promise<void> {
    await this.order.run([
      () => this.workflow("one", 2),
      () => this.workflow("two", 1),
      () => this.meddler(),
      () => this.sweeper(),
      () => this.sweeper(),
    ]);
    // Two Pods share a Runtime, nobody is at work any more: what is left is what somebody refers to.
    const store = createFilesystemStore({ files: this.volume, owner, random: this.random, volumeClaimName: "store" });
    await this.sweep({ client: this.god, store });
    const left = await this.volume.list(`${this.volume.root}/runs`, 1000).catch(() => []);
    const referred = await this.referred();
    expect(left.map(({ name }) => name).filter((uid) => !referred.has(uid))).toEqual([]);
    this.api.close();
  }
}

test("however sweep, upload, deletion, retry and crash interleave: nothing that is referred to goes, nothing else stays", {
  timeout: 120_000,
}, async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 1_000_000 }), async (seed) => {
      await new Episode(seed).run();
    }),
    { numRuns: 40, endOnFailure: true },
  );
});
