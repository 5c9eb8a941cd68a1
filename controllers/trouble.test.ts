import { expect, test } from "vitest";
import type { PersistentWorkspaceStatus } from "#api/kinds/persistent-workspace.ts";
import type { RunStatus } from "#api/kinds/run.ts";
import type { WorkflowRunStatus } from "#api/kinds/workflow-run.ts";
import { runs } from "#api/resources.ts";
import { runTrouble, tellTrouble, workflowTrouble, workspaceTrouble } from "./trouble.ts";

const running: RunStatus = { phase: "Running", attempt: 1, assignedPod: "p" };

test.each<[string, RunStatus | undefined, RunStatus, string | undefined]>([
  ["a Run that ended with its Pod", running, { phase: "Failed", reason: "PodDeleted", message: "gone" }, "PodDeleted"],
  [
    "a Run whose attempt is lost and which goes on",
    running,
    { phase: "Pending", attempts: [{ number: 1, reason: "NodeLost" }] } as RunStatus,
    "NodeLost",
  ],
  ["a Run that had not started", { phase: "Scheduled", assignedPod: "p" }, { phase: "Pending" }, "PodLost"],
  ["a Run that stays where it was", running, running, undefined],
  ["a Run that is new", undefined, { phase: "Pending" }, undefined],
  ["a Run that succeeds", running, { phase: "Succeeded" }, undefined],
])("%s", (_sentence, old, status, reason) => {
  expect(runTrouble(old, status)?.reason).toBe(reason);
});

test("a workspace is told lost once", () => {
  const bound: PersistentWorkspaceStatus = { phase: "Bound", boundPod: "p" };
  const lost: PersistentWorkspaceStatus = { phase: "Lost", boundPod: "p" };
  expect(workspaceTrouble(bound, lost)).toEqual({ reason: "WorkspaceLost", message: expect.stringContaining("p") });
  expect(workspaceTrouble(lost, lost)).toBeUndefined();
  expect(workspaceTrouble(undefined, bound)).toBeUndefined();
});

test("a workflow is told failed once, unless somebody asked it to end", () => {
  const going = { phase: "Running" } as WorkflowRunStatus;
  const failed = { phase: "Failed", reason: "JobFailed", message: "job a failed" } as WorkflowRunStatus;
  expect(workflowTrouble(going, failed)).toEqual({ reason: "JobFailed", message: "job a failed" });
  expect(workflowTrouble(failed, failed)).toBeUndefined();
  expect(workflowTrouble(going, { ...failed, reason: "Stopped" })).toBeUndefined();
  expect(workflowTrouble(going, { phase: "Succeeded" } as WorkflowRunStatus)).toBeUndefined();
});

test("trouble becomes a Warning about the object; none becomes nothing", () => {
  const told: unknown[][] = [];
  const recorder = { event: (...words: unknown[]) => void told.push(words) };
  const run = { metadata: { name: "r", namespace: "n", uid: "u" }, spec: { runtime: "b", source: { inline: "x" } } };
  tellTrouble(recorder, runs, run, undefined);
  tellTrouble(undefined, runs, run, { reason: "X", message: "y" });
  tellTrouble(recorder, runs, run, { reason: "NodeLost", message: "gone" });
  const about = { apiVersion: "kruntimes.io/v1alpha1", kind: "Run", name: "r", namespace: "n", uid: "u" };
  expect(told).toEqual([[about, "Warning", "NodeLost", "gone"]]);
});
