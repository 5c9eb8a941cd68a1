import { expect, test } from "vitest";
import type { RunStatus } from "#api/kinds/run.ts";
import { timestamp } from "#api/time.ts";
import type { Pod } from "#kube/builtin.ts";
import { nextDeadline, observe, type Seen } from "./observe.ts";

const now = Date.parse("2026-01-01T00:00:00Z");
const running: RunStatus = {
  phase: "Running",
  assignedPod: "p",
  assignedPodUID: "u1",
  assignmentEpoch: 1,
  attempt: 1,
  startTime: timestamp(now - 10_000),
};
const scheduled: RunStatus = { phase: "Scheduled", assignedPod: "p", assignedPodUID: "u1", assignmentEpoch: 1 };

function pod(change: Partial<Pod["metadata"]> = {}, status: Pod["status"] = { phase: "Running" }): Pod {
  return { metadata: { name: "p", uid: "u1", ...change }, spec: { containers: [] }, status };
}

function seen(change: Partial<Omit<Seen, "run">> = {}, timeout?: string): Seen {
  return {
    run: { metadata: { name: "r" }, spec: { runtime: "bash", ...(timeout === undefined ? {} : { timeout }) } },
    pod: pod(),
    runtimeExists: true,
    runningSince: now - 10_000,
    ...change,
  };
}

const disruption = (reason: string) => ({ type: "DisruptionTarget", status: "True", reason }) as const;

const cases: Record<string, { seen: Seen; status: RunStatus; want: string | undefined }> = {
  "a Run whose Pod is there is left alone": { seen: seen(), status: running, want: undefined },
  "a Pod that is not ready does not fail a Run": {
    seen: seen({ pod: pod({}, { phase: "Running", conditions: [{ type: "Ready", status: "False" }] }) }),
    status: running,
    want: undefined,
  },
  "a Pod that is gone loses a running Run": { seen: seen({ pod: undefined }), status: running, want: "PodDeleted" },
  "a Pod that is gone loses a scheduled Run": { seen: seen({ pod: undefined }), status: scheduled, want: "PodDeleted" },
  "a Pod of the same name with another uid is another Pod": {
    seen: seen({ pod: pod({ uid: "u2" }) }),
    status: running,
    want: "PodDeleted",
  },
  "an evicted Pod says so": {
    seen: seen({ pod: pod({}, { phase: "Failed", reason: "Evicted" }) }),
    status: running,
    want: "PodEvicted",
  },
  "a Pod that the eviction API took away says so by a condition, however its containers ended": {
    seen: seen({ pod: pod({}, { phase: "Succeeded", conditions: [disruption("EvictionByEvictionAPI")] }) }),
    status: running,
    want: "PodEvicted",
  },
  "so does one that the kubelet ended under pressure": {
    seen: seen({ pod: pod({}, { phase: "Failed", conditions: [disruption("TerminationByKubelet")] }) }),
    status: running,
    want: "PodEvicted",
  },
  "so does one that made room for a more important Pod": {
    seen: seen({ pod: pod({}, { phase: "Failed", conditions: [disruption("PreemptionByScheduler")] }) }),
    status: running,
    want: "PodEvicted",
  },
  "an evicted Pod that still drains keeps its Runs": {
    seen: seen({
      pod: pod(
        { deletionTimestamp: timestamp(now + 60_000) },
        { phase: "Running", conditions: [disruption("EvictionByEvictionAPI")] },
      ),
    }),
    status: running,
    want: undefined,
  },
  "a Pod that has ended counts as deleted": {
    seen: seen({ pod: pod({}, { phase: "Succeeded" }) }),
    status: running,
    want: "PodDeleted",
  },
  "a Pod within its grace period keeps its Runs": {
    seen: seen({ pod: pod({ deletionTimestamp: timestamp(now - 29_999) }) }),
    status: running,
    want: undefined,
  },
  "a Pod 30 s past its deletionTimestamp is lost": {
    seen: seen({ pod: pod({ deletionTimestamp: timestamp(now - 30_000) }) }),
    status: running,
    want: "NodeLost",
  },
  "a Pod removed by a node taint is lost at once": {
    seen: seen({
      pod: pod(
        {},
        {
          phase: "Running",
          conditions: [{ type: "DisruptionTarget", status: "True", reason: "DeletionByTaintManager" }],
        },
      ),
    }),
    status: running,
    want: "NodeLost",
  },
  "an agent that is silent a minute after the timeout has lost its Run": {
    seen: seen({ runningSince: now - 65_000 }, "5s"),
    status: running,
    want: "NodeLost",
  },
  "an agent has that minute to end an attempt": {
    seen: seen({ runningSince: now - 64_999 }, "5s"),
    status: running,
    want: undefined,
  },
  "what the clock of the agent says of the beginning takes no Run away": {
    seen: seen({}, "5s"),
    status: { ...running, startTime: timestamp(now - 3_600_000) },
    want: undefined,
  },
  "without its Runtime a lost Run is not repeated": {
    seen: seen({ pod: undefined, runtimeExists: false }),
    status: running,
    want: "RuntimeDeleted",
  },
  "a Run that was placed before ends with its Runtime": {
    seen: seen({ pod: undefined, runtimeExists: false }),
    status: { phase: "Pending", assignmentEpoch: 1 },
    want: "RUNTIME_DELETED",
  },
  "a Run that was never placed waits for its Runtime": {
    seen: seen({ pod: undefined, runtimeExists: false }),
    status: { phase: "Pending" },
    want: undefined,
  },
  "a Run that has ended is left alone": {
    seen: seen({ pod: undefined }),
    status: { ...running, phase: "Succeeded" },
    want: undefined,
  },
};

test.each(Object.entries(cases))("%s", (_, given) => {
  const event = observe(given.seen, given.status, now);
  expect(event?.type === "POD_LOST" ? event.reason : event?.type).toBe(given.want);
});

test("the next look is due at the earliest deadline", () => {
  const deleting = seen({ pod: pod({ deletionTimestamp: timestamp(now) }) }, "5s");
  expect(nextDeadline(deleting, running)).toBe(now + 30_000);
  expect(nextDeadline(seen({}, "5s"), running)).toBe(now - 10_000 + 5000 + 60_000);
  expect(nextDeadline(seen(), running)).toBeUndefined();
});
