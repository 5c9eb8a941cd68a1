import type { Run } from "#api/kinds/run.ts";
import { annotations } from "#api/labels.ts";
import type { Amounts } from "#api/quantity.ts";
import { runs } from "#api/resources.ts";
import { requestsOf } from "#api/runs.ts";
import { type Pod, pods } from "#kube/builtin.ts";
import type { Change } from "#local/apiserver/index.ts";
import { resourceOf, type World } from "../world.ts";
import type { Report, Rule, Start } from "./rule.ts";

/** No Pod ever gets more than it can hold: in the books of the API server, and on the Pod itself. */
export function capacityRules(world: World, report: Report): Rule {
  /** Active Runs by the UID of their Pod, and the Pod of each. */
  const active = new Map<string, Map<string, Run>>();
  const podOf = new Map<string, string>();
  const capacities = new Map<string, Amounts>();

  function book(run: Run, gone: boolean): void {
    const { uid = "" } = run.metadata;
    const { phase, assignedPodUID } = run.status ?? {};
    const now = !gone && (phase === "Scheduled" || phase === "Running") ? assignedPodUID : undefined;
    const before = podOf.get(uid);
    if (before !== undefined) active.get(before)?.delete(uid);
    podOf.delete(uid);
    if (now === undefined) return;
    podOf.set(uid, now);
    const there = active.get(now) ?? new Map<string, Run>();
    active.set(now, there.set(uid, run));
    if (before !== now)
      check(`Pod ${run.status?.assignedPod}`, "by the API server", capacities.get(now), [...there.values()]);
  }

  function check(subject: string, whose: string, capacity: Amounts | undefined, there: readonly Run[]): void {
    if (capacity === undefined) {
      report("Runs are placed on Pods that exist", subject, there.map(({ metadata }) => metadata.name).join());
      return;
    }
    const used: Record<string, number> = {};
    for (const { spec } of there) {
      for (const [name, amount] of Object.entries(requestsOf(spec) ?? {})) used[name] = (used[name] ?? 0) + amount;
    }
    const exceeded = Object.entries(used).find(([name, amount]) => amount > (capacity[name] ?? 0));
    if (exceeded === undefined) return;
    const names = there.map(({ metadata, status }) => `${metadata.name} (${status?.phase})`).join(", ");
    report(
      "capacity is never exceeded",
      subject,
      `${exceeded[0]} ${exceeded[1]} of ${capacity[exceeded[0]] ?? 0} ${whose}: ${names}`,
    );
  }

  return {
    change({ type, resource, object }: Change) {
      if (resource === resourceOf(pods) && type !== "DELETED") {
        const text = (object as unknown as Pod).metadata.annotations?.[annotations.capacity];
        if (text !== undefined) capacities.set(object.metadata.uid, JSON.parse(text) as Amounts);
      }
      if (resource === resourceOf(runs)) book(object as unknown as Run, type === "DELETED");
    },
    start({ pod, request }: Start) {
      const there = [...pod.running, request].flatMap(({ runUid }) => world.runOf(runUid) ?? []);
      check(`Pod ${pod.name}`, "on the Pod", pod.capacity, there);
    },
  };
}
