import { afterEach, expect, test } from "vitest";
import { workflowActions, workflowRuns } from "#api/resources.ts";
import { ControlPlane } from "#test/integration/support/control-plane.ts";
import { createWorkflowActionController } from "./index.ts";

const plane = new ControlPlane();
afterEach(() => plane.stop());

test("a run that is being deleted still says what was made of an action", async () => {
  const metadata = { name: "ci", namespace: "default", finalizers: ["example.org/stays"] };
  const jobs = { a: { "runs-on": "bash", steps: [{ name: "s", run: "true" }] } };
  const run = await plane.create(workflowRuns, { metadata, spec: { jobs } });
  const ask = (name: string) =>
    plane.create(workflowActions, {
      metadata: { name, namespace: "default" },
      spec: { workflowRef: { name: "ci" }, action: "Suspend" },
    });
  const { uid = "" } = (await ask("applied")).metadata;
  const record = { uid, name: "applied", action: "Suspend", at: "2026-01-01T00:00:00.000000Z", message: "suspended" };
  const status = { phase: "Pending", suspended: true, appliedActions: [{ ...record, outcome: "Succeeded" }] } as const;
  await plane.client
    .of(workflowRuns)
    .update({ ...run, status: { ...status, appliedActions: [...status.appliedActions] } }, "status");
  await ask("late");
  await plane.client.of(workflowRuns).delete(run.metadata);
  await plane.start((deps, informers) => [createWorkflowActionController(deps, informers, { ttlSeconds: 60 })]);
  expect((await plane.find(workflowActions, "applied"))?.status).toMatchObject({
    phase: "Succeeded",
    message: "suspended",
  });
  expect((await plane.find(workflowActions, "late"))?.status).toMatchObject({
    phase: "Failed",
    reason: "WorkflowNotFound",
  });
});
