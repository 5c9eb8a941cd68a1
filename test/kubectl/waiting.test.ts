import { afterAll, beforeAll, expect, test } from "vitest";
import { runs, runtimes, workflowRuns } from "#api/resources.ts";
import { persistentVolumeClaims } from "#kube/builtin.ts";
import { bashRun, bashRuntime, claim, workflowRun } from "#test/integration/support/cluster.ts";
import { KubectlCluster } from "./support/kubectl.ts";

let cluster: KubectlCluster;
const kubectl = (args: string) => cluster.kubectl(args);

beforeAll(async () => {
  cluster = await KubectlCluster.start();
  await cluster.cluster.create(persistentVolumeClaims, claim);
  await cluster.cluster.create(runtimes, bashRuntime());
});
afterAll(() => cluster?.stop());

test("wait --for=condition=Finished returns when a Run ends, however it does", async () => {
  await cluster.cluster.create(runs, bashRun("waited", "sleep 0.5; exit 3"));
  expect(await kubectl("wait run/waited --for=condition=Finished --timeout=30s")).toBe(
    "run.kruntimes.io/waited condition met\n",
  );
  expect(await kubectl("wait run/waited --for=condition=Succeeded=False --timeout=5s")).toContain("condition met");
  expect(await cluster.refused("wait run/waited --for=condition=Succeeded --timeout=1s")).toContain("timed out");
});

test("wait --for=jsonpath returns when a field has a value, or any", async () => {
  await cluster.cluster.create(runs, bashRun("phased", "sleep 0.5"));
  expect(await kubectl("wait run/phased --for=jsonpath={.status.phase}=Succeeded --timeout=30s")).toContain(
    "condition met",
  );
  expect(await kubectl("wait run/phased --for=jsonpath={.status.exitCode} --timeout=5s")).toContain("condition met");
});

test("wait --for=condition works for workflows and for many objects", async () => {
  const steps = [{ name: "one", run: "true" }];
  await cluster.cluster.create(workflowRuns, workflowRun("flow", { a: { "runs-on": "bash", steps } }));
  expect(await kubectl("wait wfr/flow --for=condition=Succeeded --timeout=30s")).toContain("condition met");
  expect((await kubectl("wait runs --all --for=condition=Finished --timeout=30s")).trim().split("\n").length).toBe(3);
});

test("wait --for=create and --for=delete follow objects that come and go", async () => {
  const coming = kubectl("wait run/later --for=create --timeout=30s");
  const made = bashRun("later", "true");
  await cluster.cluster.create(runs, { ...made, metadata: { ...made.metadata, finalizers: ["example.com/held"] } });
  expect(await coming).toContain("condition met");
  await cluster.cluster.finished("later");
  await kubectl("delete run later --wait=false");
  const { counters } = cluster.cluster.cluster.api;
  const before = counters.count("watch", "runs.kruntimes.io");
  const going = kubectl("wait run/later --for=delete --timeout=30s");
  await expect.poll(() => counters.count("watch", "runs.kruntimes.io"), { timeout: 20_000 }).toBeGreaterThan(before);
  await cluster.cluster.client
    .of(runs)
    .patch({ name: "later", namespace: "default" }, { metadata: { finalizers: null } });
  expect(await going).toContain("condition met");
});
