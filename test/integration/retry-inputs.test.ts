/** The example of a Retry with other inputs, with real programs and as people type it. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { runs, workflowActions, workflowRuns } from "#api/resources.ts";
import { namespace, TestCluster } from "./support/cluster.ts";
import { krtHere } from "./support/krt-in-process.ts";

let cluster: TestCluster;
beforeAll(async () => {
  cluster = await TestCluster.start();
  await cluster.apply("examples/retry-inputs/workflow.yaml");
});
afterAll(() => cluster.stop());

const krt = (...args: string[]) => krtHere(cluster.cluster.kubeconfig, ["workflow", ...args]);
const wider = ["--restart-successful", "--node-field-selector", "job=report"];

test("krt workflow retry --set: a value that does not fit is refused with what would, and leaves no action behind", async () => {
  await cluster.workflowFinished("regions");
  const refused = await krt("retry", "regions", ...wider, "--set", "region=east");
  expect(refused.code).toBe(1);
  expect(refused.err).toContain('Workflow "regions" has no input "region". Its inputs: regions.');
  const everything = await krt("retry", "regions", "--restart-successful");
  expect(everything).toMatchObject({ code: 2, err: expect.stringContaining("needs --node-field-selector") });
  expect((await cluster.client.of(workflowActions).list({ namespace })).items).toEqual([]);
});

test("krt workflow retry --set: only what is new in the matrix runs, and what used the value", async () => {
  const before = await cluster.workflowFinished("regions");
  const retried = await krt("retry", "regions", ...wider, "--set", 'regions=["north","east"]');
  expect(retried).toMatchObject({
    code: 0,
    out: expect.stringContaining("goes on: 2 jobs run again, and deploy.1 left the matrix"),
    err: "",
  });
  const after = await cluster.until(workflowRuns, "regions", ({ status }) => status?.phase === "Succeeded");
  expect(after.status).toMatchObject({
    attempt: 2,
    inputs: { regions: '["north","east"]' },
    jobs: {
      deploy: { former: [{ id: "deploy.1", matrix: { region: "south" } }] },
      "deploy.1": { matrix: { region: "east" }, attempt: 2 },
    },
  });
  expect(JSON.stringify(after.status?.jobs?.["deploy.0"])).toBe(JSON.stringify(before.status?.jobs?.["deploy.0"]));
  expect((await cluster.client.of(runs).list({ namespace })).items).toHaveLength(5);
});
