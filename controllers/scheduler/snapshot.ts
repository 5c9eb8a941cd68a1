import type { PersistentWorkspace } from "#api/kinds/persistent-workspace.ts";
import type { Amounts } from "#api/quantity.ts";
import type { Selector } from "./label-selector.ts";
import type { Pool } from "./pool.ts";
import type { Slot } from "./slot.ts";
import type { Workload } from "./workload.ts";
import { type ResolvedWorkspace, resolveWorkspace } from "./workspace.ts";

/** What placement needs to know of a Runtime. */
export interface RuntimeView {
  readonly uid: string;
  readonly deleting: boolean;
  /** Capacity of each Pod by the Runtime's spec. */
  readonly capacity: Amounts;
  /** Keys of the Secrets and ConfigMaps that its Runs may refer to. */
  readonly references: readonly string[];
}

/** One required term and the Pods on which it holds; `seed` when it holds everywhere because the Run may start the cohort. */
export interface AffinityTerm {
  readonly pods: ReadonlyMap<string, number>;
  readonly seed: boolean;
}

/** Answers to the affinity questions of one Run, found once for all Pods. Pods are named by key. */
export interface AffinityView {
  readonly required: readonly AffinityTerm[];
  /** Pods with Runs that the Run wants to be apart from. */
  readonly avoided: ReadonlySet<string>;
  /** Pods with Runs that want to be apart from this one. */
  readonly repelling: ReadonlySet<string>;
  readonly preferred: readonly { readonly weight: number; readonly pods: ReadonlyMap<string, number> }[];
  readonly preferredAnti: readonly { readonly weight: number; readonly pods: ReadonlyMap<string, number> }[];
}

/** The Pods to which required affinity limits a Run: those of the strictest term; undefined when it limits nothing. */
export function podsOfCohort({ required }: AffinityView): ReadonlyMap<string, number> | undefined {
  let few: ReadonlyMap<string, number> | undefined;
  for (const { pods, seed } of required) if (!seed && (few === undefined || pods.size < few.size)) few = pods;
  return few;
}

/** The world as one decision sees it. */
export interface Snapshot {
  readonly runtime: RuntimeView | undefined;
  readonly pool: Pool;
  /** Absent when the Run names no workspace. */
  readonly workspace: ResolvedWorkspace | undefined;
  readonly affinity: AffinityView;
}

/** What a snapshot is taken from. */
export interface World {
  runtime(namespace: string, name: string): RuntimeView | undefined;
  pool(key: string): Pool;
  slot(podKey: string): Slot | undefined;
  workspace(namespace: string, name: string): PersistentWorkspace | undefined;
}

const noPods: ReadonlySet<string> = new Set();
const nothing: AffinityView = { required: [], avoided: noPods, repelling: noPods, preferred: [], preferredAnti: [] };

export function takeSnapshot(run: Workload, world: World): Snapshot {
  const pool = world.pool(run.pool);
  return {
    runtime: world.runtime(run.namespace, run.runtime),
    pool,
    workspace:
      run.workspace === undefined
        ? undefined
        : resolveWorkspace(run, world.workspace(run.namespace, run.workspace), (key) => world.slot(key)),
    affinity: viewAffinity(run, pool),
  };
}

function viewAffinity(run: Workload, pool: Pool): AffinityView {
  const { required, requiredAnti, preferred, preferredAnti } = run.affinity;
  const repelling = pool.repellents.size === 0 ? noPods : pool.repellents.podsRepelling(run.labels);
  const asks = required.length + requiredAnti.length + preferred.length + preferredAnti.length > 0;
  if (!asks) return repelling.size === 0 ? nothing : { ...nothing, repelling };
  return {
    required: required.map((term) => viewTerm(run, term, pool)),
    avoided: new Set(requiredAnti.flatMap((term) => [...pool.labels.podsMatching(term).keys()])),
    repelling,
    preferred: preferred.map(({ weight, selector }) => ({ weight, pods: pool.labels.podsMatching(selector) })),
    preferredAnti: preferredAnti.map(({ weight, selector }) => ({ weight, pods: pool.labels.podsMatching(selector) })),
  };
}

/**
 * The first Run of a cohort finds nobody to be with: when no active Run of the pool matches and the Run matches its own term, any
 * Pod will do. Runs of other Runtimes do not count, since this Run can never be on their Pods.
 */
function viewTerm(run: Workload, term: Selector, pool: Pool): AffinityTerm {
  const pods = pool.labels.podsMatching(term);
  return { pods, seed: pods.size === 0 && term.matches(run.labels) };
}
