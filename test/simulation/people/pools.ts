import type { RuntimeSpec } from "#api/kinds/runtime.ts";
import { runtimes } from "#api/resources.ts";
import { persistentVolumeClaims } from "#kube/builtin.ts";
import type { Person } from "./person.ts";

/** The pools of the simulation: two that share an artifact store, and one without. */
export const pools = {
  large: { replicas: 2, capacity: { runs: 3, gpu: 1 }, store: true },
  small: { replicas: 1, capacity: { runs: 2 }, store: true },
  bare: { replicas: 1, capacity: { runs: 2 }, store: false },
} as const;
export type PoolName = keyof typeof pools;
export const poolNames = Object.keys(pools) as PoolName[];

const claimName = "artifacts";

function specOf(name: PoolName, drainSeconds: number): RuntimeSpec {
  const { replicas, capacity, store } = pools[name];
  return {
    replicas,
    capacity: { resources: { ...capacity } },
    drain: { timeout: `${drainSeconds}s` },
    template: { spec: { containers: [{ name: "runtime", image: "bash:5" }] } },
    ...(store ? { artifactStore: { driver: "Filesystem" as const, filesystem: { volumeClaimName: claimName } } } : {}),
  };
}

export async function createClaim(person: Person): Promise<void> {
  const spec = { accessModes: ["ReadWriteMany"], resources: { requests: { storage: "1Gi" } } };
  await person.create(persistentVolumeClaims, { metadata: { name: claimName }, spec });
}

export async function createPool(person: Person, name: PoolName): Promise<void> {
  await person.create(runtimes, { metadata: { name }, spec: specOf(name, person.dice.int(5, 40)) });
}

/** Another number of Pods, down to none. */
export async function scalePool(person: Person): Promise<void> {
  const runtime = person.any(runtimes);
  if (runtime === undefined) return;
  await person.patch(runtimes, runtime.metadata.name, { spec: { replicas: person.dice.int(0, 3) } });
}

/** Another template: all Pods are replaced. */
export async function changePool(person: Person): Promise<void> {
  const runtime = person.any(runtimes);
  if (runtime === undefined) return;
  const container = { name: "runtime", image: `bash:${person.name("5")}` };
  await person.patch(runtimes, runtime.metadata.name, { spec: { template: { spec: { containers: [container] } } } });
}

/** More or less room in each Pod: all Pods are replaced. */
export async function resizePool(person: Person): Promise<void> {
  const runtime = person.any(runtimes);
  if (runtime === undefined) return;
  const resources = { runs: person.dice.int(1, 4) };
  await person.patch(runtimes, runtime.metadata.name, { spec: { capacity: { resources } } });
}

/** Only the pool that no workflow needs for its artifacts goes, and comes back later or not. */
export async function togglePool(person: Person): Promise<void> {
  if (person.world.object(runtimes, "bare") === undefined) await createPool(person, "bare");
  else await person.delete(runtimes, "bare");
}

/** At the end every pool that exists has at least one Pod, as a rule. */
export async function reopenPools(person: Person): Promise<void> {
  for (const { metadata, spec } of person.world.objects(runtimes)) {
    if (spec.replicas === 0 && person.dice.chance(0.7))
      await person.patch(runtimes, metadata.name, { spec: { replicas: 1 } });
  }
}
