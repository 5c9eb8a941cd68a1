import type { Kind } from "../types.ts";
import { accessReviews } from "./access-review.ts";
import { coreKinds } from "./core.ts";
import { coreEvent, event } from "./event.ts";
import { namespaceKind } from "./namespace.ts";
import { pod } from "./pod.ts";
import { replicaSet } from "./replica-set.ts";

/** The kinds of Kubernetes that this server has. Stored and lightly checked; what acts on them runs elsewhere. */
export function builtinKinds(): readonly Kind[] {
  return [namespaceKind, pod, replicaSet, ...coreKinds, coreEvent, event, ...accessReviews];
}
