import { readdirSync, readFileSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runtimes } from "#api/resources.ts";
import { persistentVolumeClaims } from "#kube/builtin.ts";
import { type Case, readCase, shownOf, start } from "#test/support/workflow-case.ts";
import { bashRuntime, claim, namespace, TestCluster } from "./support/cluster.ts";

const directory = `${import.meta.dirname}/workflows`;
const cases = readdirSync(directory)
  .filter((file) => file.endsWith(".yaml"))
  .map((file): [string, Case] => [file.slice(0, -5), readCase(readFileSync(`${directory}/${file}`, "utf8"))]);

let cluster: TestCluster;
/** What became of the request to start each case. All of them start at once. */
const started = new Map<string, Promise<string | undefined>>();

beforeAll(async () => {
  cluster = await TestCluster.start();
  await cluster.create(persistentVolumeClaims, claim);
  await cluster.create(runtimes, bashRuntime({ replicas: 2, capacity: { resources: { runs: 16 } } }));
  await cluster.ready("bash", 2);
  for (const [name, each] of cases) started.set(name, start(cluster.client, { namespace, name }, each));
});
afterAll(() => cluster.stop());

test("there are enough of them", () => {
  expect(cases.length).toBeGreaterThanOrEqual(60);
});

test.each(cases)("%s", async (name, each) => {
  const refusal = await started.get(name);
  if (each.refused !== undefined) {
    expect(refusal).toContain(each.refused);
    return;
  }
  expect(refusal).toBeUndefined();
  const run = await cluster.workflowFinished(name);
  expect(shownOf(run)).toMatchObject(each.expect);
});
