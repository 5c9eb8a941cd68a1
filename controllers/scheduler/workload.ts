import type { Run, RunAffinityTerm } from "#api/kinds/run.ts";
import type { Amounts } from "#api/quantity.ts";
import { referenceKey, referencesOf } from "#api/references.ts";
import { modeOf, requestsOf } from "#api/runs.ts";
import { parseTime } from "#api/time.ts";
import { compileSelector, type Labels, type Selector } from "./label-selector.ts";

export interface Weighted {
  readonly weight: number;
  readonly selector: Selector;
}

/** The affinity of a Run, compiled. Absent lists are empty. */
export interface Affinity {
  readonly required: readonly Selector[];
  readonly requiredAnti: readonly Selector[];
  readonly preferred: readonly Weighted[];
  readonly preferredAnti: readonly Weighted[];
}

/** What placing a Run depends on: everything but its status. */
export interface Workload {
  readonly uid: string;
  /** `namespace/name` of the Run. */
  readonly key: string;
  readonly namespace: string;
  readonly name: string;
  readonly runtime: string;
  /** `namespace/runtime`: the pool of Pods that can hold it. */
  readonly pool: string;
  readonly labels: Labels;
  readonly requests: Amounts;
  /** A session has its Pod to itself. */
  readonly exclusive: boolean;
  readonly workspace: string | undefined;
  readonly priority: number;
  /** Creation, milliseconds since the epoch. */
  readonly createdAt: number;
  /** Position in which this scheduler saw it first: creation times have a resolution of one second only. */
  readonly arrival: number;
  readonly affinity: Affinity;
  /** Keys of the Secrets and ConfigMaps that it refers to, each once, in order. */
  readonly references: readonly string[];
}

const nowhere: Affinity = { required: [], requiredAnti: [], preferred: [], preferredAnti: [] };
const noLabels: Labels = {};

/** What an active Run counts for whose requests cannot be read: it holds at least a place. */
const onePlace: Amounts = { runs: 1 };

/** `namespace/runtime`, the name of a pool. */
export const poolKey = (namespace: string | undefined, runtime: string): string => `${namespace ?? ""}/${runtime}`;

/**
 * Reads a Run. Its requests are those of one place when they are invalid; `requestsOf` tells which are.
 * @param arrival see {@link Workload.arrival}
 */
export function workloadOf(run: Run, arrival: number): Workload {
  const { uid = "", namespace = "", name, labels, creationTimestamp } = run.metadata;
  return {
    uid,
    key: `${namespace}/${name}`,
    namespace,
    name,
    runtime: run.spec.runtime,
    pool: poolKey(namespace, run.spec.runtime),
    labels: labels ?? noLabels,
    requests: requestsOf(run.spec) ?? onePlace,
    exclusive: modeOf(run.spec) === "session",
    workspace: run.spec.workspace?.name,
    priority: run.spec.priority ?? 0,
    createdAt: parseTime(creationTimestamp) ?? 0,
    arrival,
    affinity: affinityOf(run),
    references: [...new Set(referencesOf(run).map(referenceKey))].sort(),
  };
}

function affinityOf(run: Run): Affinity {
  const { runAffinity, runAntiAffinity } = run.spec.affinity ?? {};
  if (runAffinity === undefined && runAntiAffinity === undefined) return nowhere;
  const terms = (list: readonly RunAffinityTerm[] | undefined) =>
    (list ?? []).map((term) => compileSelector(term.labelSelector));
  const weighted = (list: readonly { weight: number; runAffinityTerm: RunAffinityTerm }[] | undefined) =>
    (list ?? []).map((one) => ({ weight: one.weight, selector: compileSelector(one.runAffinityTerm.labelSelector) }));
  return {
    required: terms(runAffinity?.requiredDuringSchedulingIgnoredDuringExecution),
    requiredAnti: terms(runAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution),
    preferred: weighted(runAffinity?.preferredDuringSchedulingIgnoredDuringExecution),
    preferredAnti: weighted(runAntiAffinity?.preferredDuringSchedulingIgnoredDuringExecution),
  };
}

/** Whether `a` is placed before `b`: the higher priority first, then the older one. */
export function isBefore(a: Workload, b: Workload): boolean {
  if (a.priority !== b.priority) return a.priority > b.priority;
  if (a.createdAt !== b.createdAt) return a.createdAt < b.createdAt;
  return a.arrival < b.arrival;
}

/**
 * Whether the start or the end of a Run can make a Pod fit, by affinity, for one that waits. A start gives it company. An end takes
 * away what it avoids or what avoids it, and the end of the last one of a cohort lets a new one begin elsewhere.
 */
export function helps(change: "taken" | "freed", changed: Workload, waiting: Workload): boolean {
  const { required, requiredAnti } = waiting.affinity;
  if (required.some((term) => term.matches(changed.labels))) return true;
  if (change === "taken") return false;
  return (
    requiredAnti.some((term) => term.matches(changed.labels)) ||
    changed.affinity.requiredAnti.some((term) => term.matches(waiting.labels))
  );
}
