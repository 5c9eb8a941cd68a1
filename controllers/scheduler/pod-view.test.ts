import { expect, test } from "vitest";
import type { Pod, ReplicaSet } from "#kube/builtin.ts";
import { type Availability, capacityOfPod, viewPod } from "./pod-view.ts";
import { makePod, makeReplicaSet } from "./testing/builders.ts";

const cases: Record<string, { pod: Pod; set?: ReplicaSet; runtimeUID?: string | undefined; want: Availability }> = {
  "a ready Pod of the Runtime's ReplicaSet takes Runs": { pod: makePod("p"), want: "available" },
  "a Pod that is not ready does not": { pod: makePod("p", { ready: false }), want: "notReady" },
  "nor one that has not started": { pod: makePod("p", { phase: "Pending" }), want: "notReady" },
  "a draining Pod is told apart": { pod: makePod("p", { draining: true }), want: "draining" },
  "a draining Pod that is not ready takes nothing at all": {
    pod: makePod("p", { draining: true, ready: false }),
    want: "notReady",
  },
  "a Pod that is being deleted counts as that, ready or not": {
    pod: makePod("p", { deleting: true }),
    want: "deleting",
  },
  "a failed Pod has ended, whatever its conditions say": {
    pod: makePod("p", { phase: "Failed", deleting: true }),
    want: "ended",
  },
  "a succeeded Pod has ended": { pod: makePod("p", { phase: "Succeeded" }), want: "ended" },
  "a label alone makes no Pod of the Runtime": { pod: makePod("p", { ownerKind: "Job" }), want: "foreign" },
  "an owner of the right name with another UID is not the ReplicaSet": {
    pod: makePod("p", { ownerUID: "other" }),
    want: "foreign",
  },
  "a ReplicaSet of another Runtime of that name does not count": {
    pod: makePod("p"),
    set: makeReplicaSet("bash", "other"),
    want: "foreign",
  },
  "without its Runtime a Pod belongs to nobody": { pod: makePod("p"), runtimeUID: undefined, want: "foreign" },
};

test.each(Object.entries(cases))("%s", (_, { pod, set = makeReplicaSet(), want, ...rest }) => {
  const runtimeUID = "runtimeUID" in rest ? rest.runtimeUID : "uid-bash";
  const view = viewPod(pod, (name) => (name === set.metadata.name ? set : undefined), runtimeUID);
  expect(view).toMatchObject({ key: "ns/uid-p", name: "p", uid: "uid-p", pool: "ns/bash", availability: want });
});

test("a ReplicaSet that is not known yet makes its Pods foreign for now", () => {
  expect(viewPod(makePod("p"), () => undefined, "uid-bash").availability).toBe("foreign");
});

const capacities: Record<string, { annotation: string | undefined; want: Record<string, number> }> = {
  "the annotation is read": { annotation: '{"runs":4,"gpu":"2"}', want: { runs: 4, gpu: 2 } },
  "absent means the default": { annotation: undefined, want: { runs: 2 } },
  "no JSON means nothing": { annotation: "{runs", want: {} },
  "no object means nothing": { annotation: "[4]", want: {} },
  "fractions mean nothing": { annotation: '{"runs":1.5}', want: {} },
};

test.each(Object.entries(capacities))("capacity: %s", (_, { annotation, want }) => {
  const pod = makePod("p", { capacity: annotation ?? "" });
  if (annotation === undefined) pod.metadata.annotations = {};
  expect(capacityOfPod(pod)).toEqual(want);
});
