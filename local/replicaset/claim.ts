import type { OwnerReference } from "#api/meta.ts";
import type { Pod, ReplicaSet } from "#kube/builtin.ts";
import { controllerReference, replicaSets } from "#kube/builtin.ts";
import { selects } from "../apiserver/selectors/label-selector.ts";
import { isActive } from "./plan.ts";

/** A Pod whose owner has to change; `owners` is what the list should be. */
export interface Claim {
  readonly pod: Pod;
  readonly owners: readonly OwnerReference[];
}

/** Uid of the owner that controls a Pod, if it has one. */
export function controllerUid(pod: Pod): string | undefined {
  return pod.metadata.ownerReferences?.find(({ controller }) => controller === true)?.uid;
}

/** Whether the set could adopt the Pod: it matches, lives, and nobody else controls it. */
export function couldAdopt(set: ReplicaSet, pod: Pod): boolean {
  return (
    controllerUid(pod) === undefined &&
    isActive(pod) &&
    set.metadata.deletionTimestamp === undefined &&
    selects(set.spec.selector, pod.metadata.labels)
  );
}

/**
 * Sorts the Pods of a namespace: those the set controls already, those it should adopt (orphans that match), and those
 * it should let go (relabelled so that they no longer match).
 */
export function claim(
  set: ReplicaSet,
  pods: readonly Pod[],
): { readonly owned: Pod[]; readonly adopt: Claim[]; readonly release: Claim[] } {
  const owned: Pod[] = [];
  const adopt: Claim[] = [];
  const release: Claim[] = [];
  for (const pod of pods) {
    const owners = pod.metadata.ownerReferences ?? [];
    if (controllerUid(pod) === set.metadata.uid) {
      if (selects(set.spec.selector, pod.metadata.labels)) owned.push(pod);
      else if (pod.metadata.deletionTimestamp === undefined) {
        release.push({ pod, owners: owners.filter(({ uid }) => uid !== set.metadata.uid) });
      }
    } else if (couldAdopt(set, pod)) {
      adopt.push({ pod, owners: [...owners, controllerReference(replicaSets, set)] });
    }
  }
  return { owned, adopt, release };
}
