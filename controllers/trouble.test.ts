import { expect, test } from "vitest";
import type { PersistentWorkspaceStatus } from "#api/kinds/persistent-workspace.ts";
import type { RunStatus } from "#api/kinds/run.ts";
import type { WorkflowRunStatus } from "#api/kinds/workflow-run.ts";
import { runs } from "#api/resources.ts";
import { gatesWait, runTrouble, tellTrouble, workflowEnd, workspaceTrouble } from "./trouble.ts";

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

const going = { phase: "Running" } as WorkflowRunStatus;
const ended = (phase: "Succeeded" | "Failed", reason?: string) =>
  ({ phase, reason, message: "why" }) as WorkflowRunStatus;

test.each<[string, WorkflowRunStatus, WorkflowRunStatus, string | undefined]>([
  ["a failure is a warning", going, ended("Failed", "JobFailed"), "Warning JobFailed"],
  ["a run out of time is a warning", going, ended("Failed", "TimedOut"), "Warning TimedOut"],
  ["what was stopped is no warning, and no success", going, ended("Failed", "Stopped"), "Normal Stopped"],
  ["what was terminated, neither", going, ended("Failed", "Terminated"), "Normal Terminated"],
  ["a success", going, ended("Succeeded"), "Normal RunCompleted"],
  ["nothing twice", ended("Failed", "JobFailed"), ended("Failed", "JobFailed"), undefined],
  ["nothing before the end", going, going, undefined],
])("the end of a workflow: %s", (_, old, status, want) => {
  const said = workflowEnd(old, status);
  expect(said && `${said.type} ${said.reason}`).toBe(want);
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

const gate = (phase: "Suspended" | "Waiting" | "Succeeded", message?: string) => ({
  phase: "Suspended" as const,
  steps: [{ name: "approve", phase, ...(phase === "Suspended" && { reason: "WaitsForResume", message }) }],
});
const gates = (jobs: object): WorkflowRunStatus => ({ phase: "Running", jobs }) as WorkflowRunStatus;

test.each<[string, WorkflowRunStatus | undefined, WorkflowRunStatus, string | undefined]>([
  [
    "a gate begins to wait",
    gates({ a: gate("Waiting") }),
    gates({ a: gate("Suspended", "Deploy?") }),
    "gate a/approve waits to be resumed: Deploy?",
  ],
  [
    "several do, and one does already",
    gates({ a: gate("Suspended") }),
    gates({ a: gate("Suspended"), b: gate("Suspended"), c: gate("Suspended") }),
    "gate b/approve (and 1 more) waits to be resumed",
  ],
  ["a gate waits as before", gates({ a: gate("Suspended") }), gates({ a: gate("Suspended") }), undefined],
  ["a gate has opened", gates({ a: gate("Suspended") }), gates({ a: gate("Succeeded") }), undefined],
  ["a run has just begun", undefined, gates({ a: gate("Waiting") }), undefined],
])("%s: what is said of gates", (_sentence, old, status, want) => {
  expect(gatesWait(old, status)?.message).toBe(want);
});
