/** Sweepers whose clocks are hours apart, over a volume that has a time of its own. */
import { setImmediate as turn } from "node:timers/promises";
import { afterEach, expect, test } from "vitest";
import type { ArtifactRef } from "#api/kinds/artifact-ref.ts";
import { runs, runtimes, workflowRuns } from "#api/resources.ts";
import { createClient } from "#kube/client.ts";
import { memoryTransport } from "#kube/memory.ts";
import type { Clock } from "#kube/ports.ts";
import { seededRandom } from "#kube/seeded-random.ts";
import { silentLogger } from "#kube/silent-logger.ts";
import { VirtualClock } from "#kube/virtual-clock.ts";
import { createApiServer } from "#local/apiserver/index.ts";
import { platformCrds } from "#local/crds.ts";
import { runSweeper } from "#runtime/agent/sweeper.ts";
import { createFilesystemStore } from "#runtime/artifacts/filesystem-store.ts";
import { memoryVolume } from "#runtime/artifacts/memory-store.ts";
import type { ArtifactStore } from "#runtime/artifacts/store.ts";

const hour = 3_600_000;
const namespace = "default";
let ending = new AbortController();
afterEach(() => {
  ending.abort();
  ending = new AbortController();
});

async function* bytes() {
  yield Buffer.from("x");
}

const behind = (clock: VirtualClock, skewMs: number): Clock => ({
  now: () => clock.now() + skewMs,
  monotonic: () => clock.monotonic(),
  after: (ms, fn) => clock.after(ms, fn),
});

interface Skews {
  readonly sweepers: readonly [number, number];
  readonly volume: number;
}

const skews: Record<string, Skews> = {
  "ahead of each other": { sweepers: [5 * hour, -5 * hour], volume: 0 },
  "both ahead of the volume": { sweepers: [7 * hour, 6 * hour], volume: 0 },
  "both behind the volume": { sweepers: [0, 0], volume: 6 * hour },
  "far ahead, the volume far behind": { sweepers: [100 * hour, 90 * hour], volume: -100 * hour },
};

test.each(Object.entries(skews))(
  "clocks that are %s remove nothing that is referred to, and all that is not",
  async (_, skew) => {
    const clock = new VirtualClock();
    const random = seededRandom(5);
    const api = createApiServer({ crds: platformCrds(), clock, random });
    const client = createClient(memoryTransport(api, clock));
    const volume = memoryVolume({ now: () => clock.now() + skew.volume });
    const owner = { clusterUid: "cluster", namespace };
    const store = createFilesystemStore({ files: volume, owner, random, volumeClaimName: "store" });
    const spec = { template: { spec: { containers: [{ name: "runtime", image: "x" }] } } };
    const runtime = await client.of(runtimes).create({ metadata: { name: "bash", namespace }, spec });
    const put = async (runUid: string): Promise<ArtifactRef> => {
      const stored = await store.put({ runUid, name: "a" }, bytes(), { maxBytes: 10 });
      return { name: "a", driver: "Filesystem", type: "File", ...stored };
    };
    const left = async () => {
      const found: string[] = [];
      for await (const { runUid } of store.list()) found.push(runUid);
      return found.sort();
    };
    const pass = async (ms: number) => {
      await clock.elapse(ms);
      // A sweep is a chain of many promises.
      for (let n = 0; n < 100; n++) await turn();
    };

    const source = { inline: "x" };
    const make = (name: string, inputs: readonly ArtifactRef[] = []) =>
      client.of(runs).create({
        metadata: { name, namespace },
        spec: { runtime: "bash", source, artifactInputs: inputs.map((ref) => ({ ref, path: "in" })) },
      });
    const living = await make("living");
    await put(living.metadata.uid ?? "");
    await make("consumer", [await put("input")]);
    const jobs = { build: { "runs-on": "bash", steps: [{ name: "s", run: "true" }] } };
    const flow = await client.of(workflowRuns).create({ metadata: { name: "flow", namespace }, spec: { jobs } });
    const artifacts = { a: await put("recorded") };
    const status = { phase: "Running" as const, jobs: { build: { phase: "Running" as const, artifacts } } };
    await client.of(workflowRuns).update({ ...flow, status }, "status");
    await put("orphan");

    let sweeps = 0;
    for (const [n, skewMs] of skew.sweepers.entries()) {
      const of = {
        namespace,
        pod: `p-${n}`,
        runtime: { name: "bash", uid: runtime.metadata.uid ?? "" },
        intervalMs: hour,
      };
      const counting: ArtifactStore = {
        driver: store.driver,
        list() {
          sweeps++;
          return store.list();
        },
        put: (target, content, options) => store.put(target, content, options),
        open: (ref) => store.open(ref),
        stat: (ref) => store.stat(ref),
        delete: (runUid) => store.delete(runUid),
      };
      void runSweeper(
        { client, clock: behind(clock, skewMs), random, logger: silentLogger, store: counting, ...of },
        ending.signal,
      );
    }
    const wanted = [living.metadata.uid ?? "", "input", "recorded"].sort();
    for (let n = 0; n < 48; n++) {
      await pass(hour);
      expect((await left()).filter((uid) => uid !== "orphan")).toEqual(wanted);
    }
    // A volume ahead of the sweepers makes everything look young for as long as that.
    expect(await left()).toEqual(wanted);
    // Wrong clocks cost sweeps, but not more than one each in an interval.
    expect(sweeps).toBeGreaterThan(0);
    expect(sweeps).toBeLessThanOrEqual(2 * 50);
    api.close();
  },
);
