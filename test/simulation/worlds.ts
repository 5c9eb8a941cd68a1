/** Declares the tests of a range of seeds. Imported by tests only: `npm test` has time for some, `npm run test:local` for more. */
import { expect, test } from "vitest";
import { explainFailure } from "./failure.ts";
import { faultKinds } from "./faults.ts";
import { wrongRights } from "./rights.ts";
import { simulate } from "./simulate.ts";

/** What must have been seen in so many worlds; if not, the simulation has become harmless. */
const events = [
  "PersistentWorkspace Lost BoundPodDeleted",
  "PersistentWorkspace Lost BoundPodDeleting",
  "PersistentWorkspace Lost BoundPodFailed",
  "PersistentWorkspace Released DeletionRequested",
  "PersistentWorkspace Released TTLExpired",
  "Run Cancelled Cancelled",
  "Run Failed ArtifactInvalid",
  "Run Failed AttemptLost",
  "Run Failed ExitNonZero",
  "Run Failed PodDeleted",
  "Run Failed StartFailed",
  "Run Pending AffinityNotSatisfied",
  "Run Pending BackingOff",
  "Run Pending HandedBack",
  "Run Pending InsufficientCapacity",
  "Run Pending NoReadyPods",
  "Run Pending PodDeleted",
  "Run Pending RuntimeNotFound",
  "Run Pending TakenBack",
  "Run Pending WorkspaceLost",
  "Run Pending WorkspaceNotBound",
  "Run Pending WorkspacePodNotReady",
  "Run Succeeded",
  "Run Timeout Timeout",
  "WorkflowAction Failed InvalidNodeFieldSelector",
  "WorkflowAction Failed InvalidOutputParameters",
  "WorkflowAction Failed NothingToResume",
  "WorkflowAction Failed NothingToRetry",
  "WorkflowAction Failed NothingToStop",
  "WorkflowAction Failed UnsupportedAction",
  "WorkflowAction Failed WorkflowCompleted",
  "WorkflowAction Failed WorkflowNotCompleted",
  "WorkflowAction Failed WorkflowNotFound",
  "WorkflowAction Succeeded ActionApplied",
  "WorkflowRun Failed JobFailed",
  "WorkflowRun Failed Stopped",
  "WorkflowRun Failed Terminated",
  "WorkflowRun Failed TimedOut",
  "WorkflowRun Failed WorkflowNotFound",
  "WorkflowRun Stopping Stopped",
  "WorkflowRun Stopping Terminated",
  "WorkflowRun Stopping TimedOut",
  "WorkflowRun Succeeded",
  "WorkflowRun Suspended",
];

/** @param from first seed */
export function testWorlds(from: number, count: number): void {
  const seen = new Set<string>();
  const faults = new Set<string>();
  const asked = new Set<string>();

  test.each(Array.from({ length: count }, (_, index) => from + index))("world %i keeps all rules", async (seed) => {
    const result = await simulate({ seed });
    for (const what of result.seen.keys()) seen.add(what);
    for (const kind of result.faults.keys()) faults.add(kind);
    for (const right of result.asked) asked.add(right);
    if (result.violations.length > 0) expect.fail(await explainFailure(result, { seed }));
  });

  test("in these worlds everything goes wrong that can", () => {
    expect(faultKinds.filter((kind) => !faults.has(kind))).toEqual([]);
    expect(events.filter((event) => !seen.has(event))).toEqual([]);
  });

  test("in these worlds each component uses all its rights to write, and needs no other right", () => {
    expect(wrongRights(asked)).toEqual([]);
  });
}
