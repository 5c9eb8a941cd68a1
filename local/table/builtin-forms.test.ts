import { expect, test } from "vitest";
import { seededRandom } from "#kube/seeded-random.ts";
import { VirtualClock } from "#kube/virtual-clock.ts";
import type { StoredObject } from "#local/apiserver/index.ts";
import { createApiServer } from "#local/apiserver/index.ts";
import { builtinKinds } from "#local/apiserver/kinds/builtin.ts";
import { platformCrds } from "#local/crds.ts";
import { builtinForms } from "./builtin-forms.ts";
import { formOf, tableOf } from "./table.ts";

const now = Date.parse("2026-01-01T00:01:00Z");
const created = "2026-01-01T00:00:00Z";

const cells = (resource: string, object: object): unknown[] => {
  const { metadata = {}, ...rest } = object as { metadata?: object };
  const whole = { ...rest, metadata: { name: "x", uid: "u", creationTimestamp: created, ...metadata } };
  return builtinForms.get(resource)?.cells(whole as unknown as StoredObject, now) ?? [];
};

const running = (name: string, ready = true, restartCount = 0) => ({
  name,
  ready,
  restartCount,
  state: { running: {} },
});
const two = { containers: [{ name: "a" }, { name: "b" }] };

const pods: Record<string, { pod: object; ready: string; status: string; restarts?: string }> = {
  "a Pod that runs": {
    pod: { spec: two, status: { phase: "Running", containerStatuses: [running("a"), running("b", false, 2)] } },
    ready: "1/2",
    status: "Running",
    restarts: "2",
  },
  "a Pod that waits": {
    pod: {
      spec: two,
      status: { phase: "Pending", containerStatuses: [{ state: { waiting: { reason: "VolumeMissing" } } }] },
    },
    ready: "0/2",
    status: "VolumeMissing",
  },
  "a Pod that is lost": {
    pod: { spec: two, status: { phase: "Failed", reason: "NodeLost" } },
    ready: "0/2",
    status: "NodeLost",
  },
  "a Pod that goes": {
    pod: {
      metadata: { deletionTimestamp: created },
      spec: two,
      status: { phase: "Running", containerStatuses: [running("a")] },
    },
    ready: "1/2",
    status: "Terminating",
  },
  "a container that ended without a reason": {
    pod: { spec: two, status: { phase: "Running", containerStatuses: [{ state: { terminated: { exitCode: 3 } } }] } },
    ready: "0/2",
    status: "ExitCode:3",
  },
  "a container that a signal ended": {
    pod: { spec: two, status: { phase: "Running", containerStatuses: [{ state: { terminated: { signal: 9 } } }] } },
    ready: "0/2",
    status: "Signal:9",
  },
  "a sidecar, which counts as a container": {
    pod: {
      spec: { containers: [{ name: "a" }], initContainers: [{ name: "s", restartPolicy: "Always" }, { name: "i" }] },
      status: {
        phase: "Running",
        containerStatuses: [running("a")],
        initContainerStatuses: [running("s"), running("i")],
      },
    },
    ready: "2/2",
    status: "Running",
  },
  "restarts, and when the last was": {
    pod: {
      spec: two,
      status: {
        phase: "Running",
        containerStatuses: [
          { ...running("a", true, 1), lastState: { terminated: { finishedAt: "2026-01-01T00:00:30Z" } } },
        ],
      },
    },
    ready: "1/2",
    status: "Running",
    restarts: "1 (30s ago)",
  },
};

test.each(Object.entries(pods))("%s", (_sentence, { pod, ready, status, restarts = "0" }) => {
  expect(cells("pods", pod).slice(0, 5)).toEqual(["x", ready, status, restarts, "60s"]);
});

test.each<[string, string, object, unknown[]]>([
  [
    "a ReplicaSet",
    "replicasets.apps",
    {
      spec: {
        replicas: 2,
        selector: {
          matchLabels: { b: "2", a: "1" },
          matchExpressions: [
            { key: "c", operator: "In", values: ["x", "y"] },
            { key: "d", operator: "DoesNotExist" },
          ],
        },
        template: {
          spec: {
            containers: [
              { name: "m", image: "i" },
              { name: "n", image: "j" },
            ],
          },
        },
      },
      status: { replicas: 1 },
    },
    ["x", 2, 1, 0, "60s", "m,n", "i,j", "a=1,b=2,c in (x,y),!d"],
  ],
  [
    "an Event of core/v1",
    "events",
    {
      involvedObject: { kind: "Run", name: "r" },
      type: "Warning",
      reason: "Lost",
      message: " gone\n",
      count: 3,
      firstTimestamp: created,
      lastTimestamp: "2026-01-01T00:00:50Z",
      source: { component: "c" },
    },
    ["10s", "Warning", "Lost", "run/r", "", "c", "gone", "60s", 3, "x"],
  ],
  [
    "an Event of events.k8s.io/v1 that happened again",
    "events",
    {
      regarding: { kind: "Run", name: "r" },
      type: "Normal",
      reason: "Up",
      note: "well",
      eventTime: created,
      series: { count: 4, lastObservedTime: "2026-01-01T00:00:59Z" },
      reportingController: "c",
      reportingInstance: "i",
    },
    ["1s", "Normal", "Up", "run/r", "", "c, i", "well", "60s", 4, "x"],
  ],
  ["a Secret, without its values", "secrets", { type: "Opaque", data: { a: "c2VjcmV0" } }, ["x", "Opaque", 1, "60s"]],
  [
    "a bound claim",
    "persistentvolumeclaims",
    {
      spec: { volumeName: "v", storageClassName: "s" },
      status: { phase: "Bound", capacity: { storage: "1Gi" }, accessModes: ["ReadWriteMany", "ReadOnlyMany"] },
    },
    ["x", "Bound", "v", "1Gi", "RWX,ROX", "s", "<unset>", "60s", "<unset>"],
  ],
  [
    "a Service without anything",
    "services",
    { spec: { type: "ClusterIP" } },
    ["x", "ClusterIP", "<none>", "<none>", "<none>", "60s", "<none>"],
  ],
  [
    "a RoleBinding",
    "rolebindings.rbac.authorization.k8s.io",
    {
      roleRef: { kind: "Role", name: "r" },
      subjects: [
        { kind: "User", name: "u" },
        { kind: "ServiceAccount", namespace: "n", name: "s" },
      ],
    },
    ["x", "Role/r", "60s", "u", "", "n/s"],
  ],
  [
    "a ControllerRevision",
    "controllerrevisions.apps",
    {
      revision: 7,
      metadata: {
        ownerReferences: [
          { apiVersion: "kruntimes.io/v1alpha1", kind: "Runtime", name: "b", uid: "u", controller: true },
        ],
      },
    },
    ["x", "runtime.kruntimes.io/b", 7, "60s"],
  ],
])("%s has its cells", (_sentence, resource, object, expected) => {
  expect(cells(resource, object)).toEqual(expected);
});

test("every kind that can be listed has a row of as many cells as columns", () => {
  const server = createApiServer({ crds: platformCrds(), clock: new VirtualClock(), random: seededRandom(1) });
  for (const kind of [...server.registry.all(), ...builtinKinds()]) {
    const object = {
      apiVersion: kind.apiVersion,
      kind: kind.kind,
      metadata: { name: "x", uid: "u", resourceVersion: "1", creationTimestamp: created },
    };
    const options = { apiVersion: "meta.k8s.io/v1", include: "None", headers: true, now } as const;
    const table = tableOf(kind, [object as StoredObject], {}, options);
    expect(table.rows[0]?.cells.length, kind.resource).toBe(formOf(kind).columns.length);
  }
});

test("a Pod that is over is marked as completed", () => {
  const pod = { metadata: { name: "x" }, status: { phase: "Failed" } } as unknown as StoredObject;
  expect(builtinForms.get("pods")?.conditions?.(pod)).toMatchObject([{ type: "Completed", reason: "Failed" }]);
});
