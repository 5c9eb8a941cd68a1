/** Volumes on this machine, which is the node of our own cluster; elsewhere the cluster has a storage class. */
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { apply, kubectl } from "./support.ts";

export const ownCluster = process.env.KRUNTIMES_TEST_IMAGES === undefined;

export interface TestVolume extends AsyncDisposable {
  /** What the claim has to ask for. */
  readonly storageClassName?: string;
}

/** A volume that several Pods can write to, for a claim of that name; `storageClassName` is what the claim asks for. */
export async function volumeFor(namespace: string, claim: string, storageClassName = "kruntimes-test") {
  if (!ownCluster) return { async [Symbol.asyncDispose]() {} } satisfies TestVolume;
  const path = await mkdtemp(join(tmpdir(), "krt-volume-"));
  // A hostPath volume belongs to root: fsGroup does not apply to it.
  await chmod(path, 0o777);
  const name = `${namespace}-${claim}`;
  await apply([
    {
      apiVersion: "v1",
      kind: "PersistentVolume",
      metadata: { name, labels: { "kruntimes.io/test": "true" } },
      spec: {
        capacity: { storage: "1Gi" },
        accessModes: ["ReadWriteMany"],
        storageClassName,
        persistentVolumeReclaimPolicy: "Retain",
        claimRef: { namespace, name: claim },
        hostPath: { path },
      },
    } as never,
  ]);
  const volume: TestVolume = {
    storageClassName,
    async [Symbol.asyncDispose]() {
      await kubectl(["delete", "pv", name, "--wait=false"]);
      await rm(path, { recursive: true, force: true });
    },
  };
  return volume;
}

/** A claim for {@link volumeFor}. */
export const claimOf = (namespace: string, name: string, { storageClassName }: TestVolume) => ({
  apiVersion: "v1",
  kind: "PersistentVolumeClaim",
  metadata: { name, namespace },
  spec: {
    accessModes: ["ReadWriteMany"],
    resources: { requests: { storage: "1Gi" } },
    ...(storageClassName !== undefined && { storageClassName }),
  },
});
