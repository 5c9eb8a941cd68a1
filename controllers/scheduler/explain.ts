import type { Amounts } from "#api/quantity.ts";
import type { WaitingReason } from "#api/reasons.ts";
import { withoutCohort } from "./filters/run-affinity.ts";
import { withoutWorkspace } from "./filters/workspace.ts";
import type { Refusal } from "./framework.ts";
import type { Slot } from "./slot.ts";
import { podsOfCohort, type Snapshot } from "./snapshot.ts";
import {
  affinityTopic,
  capacityTopic,
  podsTopic,
  podTopic,
  runtimeTopic,
  type Topic,
  workspaceTopic,
} from "./topics.ts";
import type { Workload } from "./workload.ts";

/** How the Pods refused a Run. */
export interface Refusals {
  /** Each distinct refusal and how often it was given. */
  readonly counts: ReadonlyMap<Refusal, number>;
  /** The least loaded Pod that only lacks room now and is not kept free for anybody: the best one to keep free. */
  readonly holdable: Slot | undefined;
}

/** Why a Run waits, and for what. */
export interface Waiting {
  readonly reason: WaitingReason;
  /** A sentence for people; of most Pods only counts, so that it seldom changes. */
  readonly message: string;
  /** Waiting alone will not help: no Pod, neither one that is there nor one by the spec of the Runtime, is large enough. */
  readonly hopeless: boolean;
  /** A Pod refused it because of its labels, which Runs with equal requests need not share. */
  readonly byLabels: boolean;
  /** What can make a difference. */
  readonly topics: readonly Topic[];
  readonly holdable: Slot | undefined;
}

export const noRefusals: Refusals = { counts: new Map(), holdable: undefined };

/** A cohort on more Pods than this waits for room on any. */
const maxPodTopics = 8;

/** Whether some Pod refused the Run because of its labels. */
export function refusedByLabels(refusals: Iterable<Refusal>): boolean {
  for (const { byLabels } of refusals) if (byLabels === true) return true;
  return false;
}

/** Turns what the Pods said into one reason, one sentence and the events to wait for. */
export function explain(run: Workload, snapshot: Snapshot, refusals: Refusals): Waiting {
  const { runtime, workspace, pool } = snapshot;
  if (runtime === undefined || runtime.deleting) {
    const message = runtime?.deleting
      ? `Runtime ${run.runtime} is being deleted`
      : `there is no Runtime ${run.runtime} in namespace ${run.namespace}`;
    return waiting("RuntimeNotFound", message, []);
  }
  if (workspace?.kind === "unusable") {
    const pod = workspace.pod === undefined ? [] : [podTopic(workspace.pod)];
    return waiting(workspace.reason, workspace.message, [workspaceTopic(workspace.name), ...pod]);
  }

  const { reason, lasting, tally } = summarize(pool.size, refusals, workspace !== undefined);
  const byLabels = refusedByLabels(refusals.counts.keys());
  const topics =
    workspace === undefined ? poolTopics(snapshot) : [workspaceTopic(workspace.name), podTopic(workspace.slot.key)];
  const { required, requiredAnti } = run.affinity;
  if (byLabels || required.length > 0 || requiredAnti.length > 0) topics.push(affinityTopic);

  const where =
    workspace === undefined
      ? `any Pod of Runtime ${run.runtime}`
      : `Pod ${workspace.slot.view?.name} of workspace ${workspace.name}`;
  switch (reason) {
    case "InsufficientCapacity": {
      const hopeless = lasting && exceeds(run.requests, runtime.capacity);
      const what = `${amounts(run.requests)}${run.exclusive ? " as a session" : ""}`;
      const message = hopeless
        ? `${what} can never fit on ${where}, which holds ${amounts(runtime.capacity)}${tally}`
        : `${what} does not fit on ${where}${tally}`;
      return { ...waiting(reason, message, topics), hopeless, byLabels, holdable: refusals.holdable };
    }
    case "AffinityNotSatisfied":
      return { ...waiting(reason, `the required run affinity does not hold on ${where}${tally}`, topics), byLabels };
    default: {
      // A Pod that comes helps no Run that waits for its cohort, but then this is not why it waits any more.
      const all = topics.includes(podsTopic) || workspace !== undefined ? topics : [...topics, podsTopic];
      return waiting(reason, `Runtime ${run.runtime} has no ready Pod${tally}`, all);
    }
  }
}

/** Room on any Pod, or only on the Pods where the cohort is. */
function poolTopics({ affinity }: Snapshot): Topic[] {
  const cohort = podsOfCohort(affinity);
  const few = cohort !== undefined && cohort.size <= maxPodTopics;
  return few ? [...cohort.keys()].map(podTopic) : [podsTopic, capacityTopic];
}

function waiting(reason: WaitingReason, message: string, topics: readonly Topic[]): Waiting {
  const all = [runtimeTopic, ...topics];
  return { reason, message, hopeless: false, byLabels: false, topics: all, holdable: undefined };
}

interface Summary {
  readonly reason: WaitingReason;
  /** Every Pod that lacks room would lack it when empty, too. */
  readonly lasting: boolean;
  /** ` (3 Pods: 1 full, 2 not ready)`, or nothing when there are no Pods. */
  readonly tally: string;
}

/** One reason for all: room, if that is all that some Pod lacks; else affinity; else readiness. */
function summarize(pods: number, { counts }: Refusals, inWorkspace: boolean): Summary {
  const phrases = new Map<string, number>();
  const reasons = new Set<WaitingReason>();
  let asked = 0;
  let lasting = true;
  const count = (reason: WaitingReason, message: string, by: number) => {
    reasons.add(reason);
    phrases.set(message, (phrases.get(message) ?? 0) + by);
    asked += by;
  };
  for (const [refusal, by] of counts) {
    count(refusal.reason, refusal.message, by);
    if (refusal.reason === "InsufficientCapacity" && refusal.lasting !== true) lasting = false;
  }
  // The search was narrowed to the Pod of the workspace, or to those where required affinity can hold; the others would have said this.
  if (asked < pods) {
    const { reason, message } = inWorkspace ? withoutWorkspace : withoutCohort;
    count(reason, message, pods - asked);
  }
  const list = [...phrases].sort(([a], [b]) => (a < b ? -1 : 1));
  const tally =
    pods === 0
      ? ""
      : ` (${pods} ${pods === 1 ? "Pod" : "Pods"}: ${list.map(([phrase, by]) => `${by} ${phrase}`).join(", ")})`;
  const order = ["InsufficientCapacity", "AffinityNotSatisfied"] as const;
  return { reason: order.find((one) => reasons.has(one)) ?? "NoReadyPods", lasting, tally };
}

function exceeds(requests: Amounts, capacity: Amounts): boolean {
  return Object.entries(requests).some(([name, amount]) => amount > (capacity[name] ?? 0));
}

/** `gpu 1, runs 2` */
export function amounts(list: Amounts): string {
  return Object.entries(list)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, amount]) => `${name} ${amount}`)
    .join(", ");
}
