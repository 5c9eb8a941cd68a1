import { afterAll, beforeAll, expect, test } from "vitest";
import { runs, runtimes } from "#api/resources.ts";
import { persistentVolumeClaims } from "#kube/builtin.ts";
import { bashRun, bashRuntime, claim } from "#test/integration/support/cluster.ts";
import { KubectlCluster } from "./support/kubectl.ts";

let cluster: KubectlCluster;
beforeAll(async () => {
  cluster = await KubectlCluster.start();
  await cluster.cluster.create(persistentVolumeClaims, claim);
  await cluster.cluster.create(runtimes, bashRuntime());
});
afterAll(() => cluster?.stop());

test("trouble of a Run is shown by get events and describe; a Run that goes well has no Events", async () => {
  const api = cluster.cluster;
  await api.create(runs, bashRun("well", "true"));
  await api.finished("well");
  await api.create(runs, bashRun("lost", "sleep 60"));
  const run = await api.until(runs, "lost", (one) => one.status?.phase === "Running");
  await api.killPod(run.status?.assignedPod ?? "");
  await api.finished("lost");

  const shown = () => cluster.kubectl("get events -o wide --field-selector involvedObject.name=lost");
  await expect.poll(async () => (await cluster.run(["get", "events"])).out, { timeout: 20_000 }).toContain("run/lost");
  expect(await shown()).toMatch(/Warning +PodDeleted +run\/lost/);
  expect(await cluster.kubectl("describe run lost")).toMatch(/Warning +PodDeleted/);
  expect(await cluster.kubectl("events --for run/lost")).toContain("PodDeleted");
  expect(await cluster.kubectl("describe run well")).toMatch(/^Events: +<none>$/m);
});
