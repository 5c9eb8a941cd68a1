/** The workflow of the demo, on Runtimes that the second chart makes. */
import { chmod, mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { workflowRuns } from "#api/resources.ts";
import { installPlatform } from "./platform.ts";
import { adminClient, apply, helm, image, kubectl, testNamespace, until } from "./support.ts";

/** Volumes on this machine, which is the node of our own cluster; elsewhere the cluster has a storage class. */
const ownCluster = process.env.KRUNTIMES_TEST_IMAGES === undefined;
let directory: string;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "krt-volumes-"));
  await chmod(directory, 0o755);
  await installPlatform();
});
afterAll(() => rm(directory, { recursive: true, force: true }));

/** A volume that several Pods can write to, for a claim of that name. */
async function volume(namespace: string, claim: string): Promise<string> {
  const path = join(directory, namespace);
  await mkdir(path);
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
        storageClassName: "kruntimes-test",
        persistentVolumeReclaimPolicy: "Retain",
        claimRef: { namespace, name: claim },
        hostPath: { path },
      },
    } as never,
  ]);
  return name;
}

test("the demo: jobs on shared files, an artifact from Pod to Pod, Runtimes from the chart", async () => {
  const client = adminClient();
  await using namespace = await testNamespace("demo");
  const pv = ownCluster ? await volume(namespace.name, "artifacts") : undefined;
  const [repository, tag] = image("kruntimes-bash").split(/:(?=[^/:]*$)/);
  const values = {
    artifacts: { enabled: true, size: "1Gi", ...(ownCluster && { storageClassName: "kruntimes-test" }) },
    runtimes: {
      bash: {
        image: { repository, tag, pullPolicy: "IfNotPresent" },
        resources: { requests: { cpu: "10m", memory: "64Mi" } },
      },
      python: { enabled: false },
    },
  };
  await helm(["install", "runtimes", "charts/kruntimes-runtimes", "-n", namespace.name, "--values", "-"], {
    input: JSON.stringify(values),
  });
  await kubectl(["wait", "runtime", "--all", "-n", namespace.name, "--for=condition=Available", "--timeout=60s"]);
  await apply(
    await readFile(join(import.meta.dirname, "../../examples/data-sharing/workflow.yaml"), "utf8"),
    namespace.name,
  );
  const created = await client.of(workflowRuns).create({
    metadata: { name: "demo", namespace: namespace.name },
    spec: { workflowRef: { name: "ci-data-sharing-demo" } },
  });
  const { status } = await until(
    client,
    workflowRuns,
    created.metadata,
    (run) => run.status?.completionTime !== undefined,
  );
  expect(status?.phase, JSON.stringify(status?.jobs)).toBe("Succeeded");
  expect(Object.keys(status?.jobs?.build?.artifacts ?? {})).toEqual(["dist.tgz"]);

  // What Runs have made stays when the Runtimes are uninstalled.
  await helm(["uninstall", "runtimes", "-n", namespace.name, "--wait"]);
  expect(await kubectl(["get", "pvc", "-n", namespace.name, "-o", "name"])).toBe("persistentvolumeclaim/artifacts\n");
  if (pv !== undefined) await kubectl(["delete", "pv", pv, "--wait=false"]);
});
