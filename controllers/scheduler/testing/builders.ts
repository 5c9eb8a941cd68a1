import type { PersistentWorkspace } from "#api/kinds/persistent-workspace.ts";
import type { Run, RunSpec, RunStatus } from "#api/kinds/run.ts";
import type { Runtime } from "#api/kinds/runtime.ts";
import { annotations, apiVersion, labels } from "#api/labels.ts";
import type { Amounts } from "#api/quantity.ts";
import type { Pod, ReplicaSet } from "#kube/builtin.ts";
import type { Labels } from "../label-selector.ts";
import { type Availability, type PodView, podKey } from "../pod-view.ts";
import { type Workload, workloadOf } from "../workload.ts";

/** Objects and views for tests; what is not given is the simplest thing that works: namespace `ns`, Runtime `bash`. */

export interface RunOptions {
  readonly namespace?: string;
  readonly runtime?: string;
  readonly labels?: Labels;
  readonly requests?: Record<string, number | string>;
  readonly spec?: Partial<RunSpec>;
  readonly status?: Partial<RunStatus>;
  /** Seconds after the beginning of 2026. */
  readonly created?: number;
  readonly version?: string;
  readonly deleting?: boolean;
}

/** A Run whose UID is `uid-NAME`. */
export function makeRun(name: string, options: RunOptions = {}): Run {
  const { requests, status, labels: own } = options;
  return {
    metadata: {
      name,
      namespace: options.namespace ?? "ns",
      uid: `uid-${name}`,
      resourceVersion: options.version ?? "1",
      creationTimestamp: new Date(Date.UTC(2026, 0, 1) + (options.created ?? 0) * 1000).toISOString(),
      ...(own === undefined ? {} : { labels: { ...own } }),
      ...(options.deleting ? { deletionTimestamp: "2026-01-01T00:01:00Z" } : {}),
    },
    spec: {
      runtime: options.runtime ?? "bash",
      ...(requests === undefined ? {} : { resources: { requests } }),
      ...options.spec,
    },
    ...(status === undefined ? {} : { status: { phase: "Pending", ...status } }),
  };
}

let arrivals = 0;

export const makeWorkload = (name: string, options: RunOptions = {}): Workload =>
  workloadOf(makeRun(name, options), arrivals++);

const term = (matchLabels: Record<string, string>) => ({
  labelSelector: { matchLabels },
  topologyKey: "kruntimes.io/runtime-pod" as const,
});

/** `spec.affinity` with required terms over one set of labels each. */
export function requires(affinity?: Record<string, string>, anti?: Record<string, string>): Partial<RunSpec> {
  const rules = (labelsWanted: Record<string, string>) => ({
    requiredDuringSchedulingIgnoredDuringExecution: [term(labelsWanted)],
  });
  return {
    affinity: {
      ...(affinity === undefined ? {} : { runAffinity: rules(affinity) }),
      ...(anti === undefined ? {} : { runAntiAffinity: rules(anti) }),
    },
  };
}

/** `spec.affinity` with preferred terms. */
export function prefers(affinity: [number, Record<string, string>][], anti: [number, Record<string, string>][] = []) {
  const rules = (list: [number, Record<string, string>][]) => ({
    preferredDuringSchedulingIgnoredDuringExecution: list.map(([weight, wanted]) => ({
      weight,
      runAffinityTerm: term(wanted),
    })),
  });
  return { affinity: { runAffinity: rules(affinity), runAntiAffinity: rules(anti) } } satisfies Partial<RunSpec>;
}

export function makeView(
  name: string,
  capacity: Amounts = { runs: 2 },
  availability: Availability = "available",
): PodView {
  return {
    key: podKey("ns", `uid-${name}`),
    namespace: "ns",
    name,
    uid: `uid-${name}`,
    pool: "ns/bash",
    availability,
    capacity,
    references: [],
  };
}

export function makeRuntime(
  name = "bash",
  resources: Record<string, number> = { runs: 2 },
  uid = `uid-${name}`,
): Runtime {
  return {
    metadata: { name, namespace: "ns", uid },
    spec: { template: { spec: { containers: [{ name: "runtime" }] } }, capacity: { resources } },
  };
}

export function makeReplicaSet(runtime = "bash", owner = `uid-${runtime}`): ReplicaSet {
  return {
    metadata: {
      name: `set-${runtime}`,
      namespace: "ns",
      uid: `uid-set-${runtime}`,
      ownerReferences: [{ apiVersion, kind: "Runtime", name: runtime, uid: owner, controller: true }],
    },
    spec: { selector: {}, template: { spec: { containers: [] } } },
  };
}

export interface PodOptions {
  readonly runtime?: string;
  readonly capacity?: Record<string, number> | string;
  readonly ready?: boolean;
  readonly phase?: "Pending" | "Running" | "Succeeded" | "Failed";
  readonly draining?: boolean;
  readonly deleting?: boolean;
  readonly ownerUID?: string;
  readonly ownerKind?: string;
}

/** A ready Pod of the ReplicaSet that {@link makeReplicaSet} gives. */
export function makePod(name: string, options: PodOptions = {}): Pod {
  const { runtime = "bash", capacity = { runs: 2 } } = options;
  return {
    metadata: {
      name,
      namespace: "ns",
      uid: `uid-${name}`,
      labels: { [labels.runtime]: runtime },
      annotations: {
        [annotations.capacity]: typeof capacity === "string" ? capacity : JSON.stringify(capacity),
        ...(options.draining ? { [annotations.draining]: "2026-01-01T00:00:00Z" } : {}),
      },
      ownerReferences: [
        {
          apiVersion: "apps/v1",
          kind: options.ownerKind ?? "ReplicaSet",
          name: `set-${runtime}`,
          uid: options.ownerUID ?? `uid-set-${runtime}`,
          controller: true,
        },
      ],
      ...(options.deleting ? { deletionTimestamp: "2026-01-01T00:01:00Z" } : {}),
    },
    spec: { containers: [] },
    status: {
      phase: options.phase ?? "Running",
      conditions: [{ type: "Ready", status: (options.ready ?? true) ? "True" : "False" }],
    },
  };
}

export function makeWorkspace(
  name: string,
  status: PersistentWorkspace["status"] | undefined,
  options: { runtime?: string; deleting?: boolean } = {},
): PersistentWorkspace {
  return {
    metadata: {
      name,
      namespace: "ns",
      uid: `uid-${name}`,
      ...(options.deleting ? { deletionTimestamp: "2026-01-01T00:01:00Z" } : {}),
    },
    spec: { runtime: options.runtime ?? "bash" },
    ...(status === undefined ? {} : { status }),
  };
}
