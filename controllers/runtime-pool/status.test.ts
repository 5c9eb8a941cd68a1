import { expect, test } from "vitest";
import { findCondition } from "#api/conditions.ts";
import type { Runtime } from "#api/kinds/runtime.ts";
import type { Condition } from "#api/meta.ts";
import type { ContainerStatus, Pod, PodCondition, ReplicaSet } from "#kube/builtin.ts";
import type { Seen } from "./observe.ts";
import type { Problem } from "./problem.ts";
import { statusOf } from "./status.ts";

const now = Date.parse("2026-01-01T00:00:00Z");
const runtime: Runtime = {
  metadata: { name: "bash", namespace: "n", generation: 3 },
  spec: { template: { spec: { containers: [{ name: "runtime" }] } } },
};

function seen(pods: readonly Partial<Pod["status"]>[], setConditions: PodCondition[] = []): Seen {
  const set: ReplicaSet = {
    metadata: { name: "set" },
    spec: { replicas: 1, selector: {}, template: { spec: { containers: [] } } },
    status: { replicas: 1, conditions: setConditions },
  };
  const current = pods.map((status, i) => ({
    pod: { metadata: { name: `p${i}` }, spec: { containers: [] }, status: { ...status } },
    activeRuns: 0,
    holdsWorkspace: false,
  }));
  return { replicas: 1, drainTimeoutMs: 1, current: { set, pods: current }, old: [] };
}

const waiting = (name: string, reason: string, message?: string): ContainerStatus => ({
  name,
  ready: false,
  restartCount: 0,
  state: { waiting: { reason, ...(message === undefined ? {} : { message }) } },
});

const ready: PodCondition = { type: "Ready", status: "True" };
const placed: PodCondition = { type: "PodScheduled", status: "True" };

const cases: Record<string, { seen: Seen; problem?: Problem; degraded: string }> = {
  "a ready Pod is healthy": {
    seen: seen([{ conditions: [placed, ready] }]),
    degraded: "False Healthy no Pod is in trouble",
  },
  "a Pod whose containers are being created is on its way": {
    seen: seen([{ conditions: [placed], initContainerStatuses: [waiting("runtimed", "PodInitializing")] }]),
    degraded: "False Healthy no Pod is in trouble",
  },
  "an image that cannot be pulled is told in the words of the kubelet": {
    seen: seen([{ containerStatuses: [waiting("runtime", "ImagePullBackOff", "no such image x")] }]),
    degraded: "True PodsFailing Pod p0, container runtime: ImagePullBackOff: no such image x",
  },
  "a claim that does not exist keeps the Pod from being placed": {
    seen: seen([
      {
        conditions: [
          { type: "PodScheduled", status: "False", reason: "Unschedulable", message: 'claim "artifacts" not found' },
        ],
      },
    ]),
    degraded: 'True PodsFailing Pod p0, Unschedulable: claim "artifacts" not found',
  },
  "a container that ends again and again shows its last words": {
    seen: seen([
      {
        initContainerStatuses: [
          {
            ...waiting("kruntimes-injector", "CrashLoopBackOff", "back-off 10s"),
            lastState: { terminated: { exitCode: 1, message: "no space left\n" } },
          },
        ],
      },
    ]),
    degraded: "True PodsFailing Pod p0, container kruntimes-injector: CrashLoopBackOff: back-off 10s; no space left",
  },
  "Pods that may not be created are told in the words of the API server": {
    seen: seen([], [{ type: "ReplicaFailure", status: "True", reason: "FailedCreate", message: "exceeded quota" }]),
    degraded: "True TemplateRefused exceeded quota",
  },
  "what the pass met comes before what the Pods show": {
    seen: seen([{ containerStatuses: [waiting("runtime", "ImagePullBackOff", "x")] }]),
    problem: { reason: "NameCollision", message: "taken" },
    degraded: "True NameCollision taken",
  },
};

test.each(Object.entries(cases))("%s", (_, { seen: given, problem, degraded }) => {
  const status = statusOf(runtime, given, now, problem);
  const condition = findCondition(status.conditions as Condition[], "Degraded");
  expect(`${condition?.status} ${condition?.reason} ${condition?.message}`).toBe(degraded);
  expect(status.observedGeneration).toBe(3);
});
