/** The workflow of the demo, on Runtimes that the second chart makes. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { workflowRuns } from "#api/resources.ts";
import { installPlatform } from "./platform.ts";
import { adminClient, apply, helm, image, kubectl, testNamespace, until } from "./support.ts";
import { volumeFor } from "./volumes.ts";

beforeAll(() => installPlatform());

test("the demo: jobs on shared files, an artifact from Pod to Pod, Runtimes from the chart", async () => {
  const client = adminClient();
  await using namespace = await testNamespace("demo");
  await using volume = await volumeFor(namespace.name, "artifacts");
  const [repository, tag] = image("kruntimes-bash").split(/:(?=[^/:]*$)/);
  const values = {
    artifacts: { enabled: true, size: "1Gi", storageClassName: volume.storageClassName ?? "" },
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
});
