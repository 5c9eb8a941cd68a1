import type { Runtime } from "#api/kinds/runtime.ts";
import { labels } from "#api/labels.ts";
import type { KubeObject } from "#api/meta.ts";
import { keyOf } from "#api/meta.ts";
import { type ControllerDeps, controllerOf } from "#controllers/informers.ts";
import { networkPolicies, roleBindings, serviceAccounts } from "#kube/builtin.ts";
import { isTerminating } from "#kube/events.ts";
import { createInformer } from "#kube/informer.ts";
import type { ResourceType } from "#kube/resource.ts";
import { isAlreadyExists } from "#kube/transport.ts";
import { networkPolicyOf, roleBindingOf, serviceAccountOf } from "./identity.ts";
import { type Problem, refusal } from "./problem.ts";

/** Keeps what the Pods of a Runtime need beside them as it should be. */
export interface IdentityKeeper {
  start(signal: AbortSignal): void;
  /** Creates what is missing and puts right what was changed. The first thing that is refused is told. */
  ensure(runtime: Runtime, signal: AbortSignal): Promise<Problem | undefined>;
}

/** @param wake called with the key of a Runtime when something of its was changed or deleted */
export function createIdentityKeeper(
  deps: ControllerDeps,
  clusterRole: string,
  wake: (runtime: string) => void,
): IdentityKeeper {
  const parts = [
    createPart(deps, serviceAccounts, serviceAccountOf, wake),
    createPart(deps, roleBindings, (runtime) => roleBindingOf(runtime, clusterRole), wake),
    createPart(deps, networkPolicies, networkPolicyOf, wake),
  ];
  return {
    start(signal) {
      for (const part of parts) part.start(signal);
    },
    async ensure(runtime, signal) {
      for (const part of parts) {
        const problem = await part.ensure(runtime, signal);
        if (problem !== undefined) return problem;
      }
      return undefined;
    },
  };
}

function createPart<T extends KubeObject>(
  deps: ControllerDeps,
  resource: ResourceType<T>,
  wanted: (runtime: Runtime) => T,
  wake: (runtime: string) => void,
): IdentityKeeper {
  const api = deps.client.of(resource);
  const informer = createInformer(deps.client, resource, { ...deps, labelSelector: labels.runtime });
  informer.onChange((old, next) => {
    const { namespace, labels: found } = (next ?? old)?.metadata ?? {};
    const runtime = found?.[labels.runtime];
    if (runtime !== undefined) wake(`${namespace}/${runtime}`);
  });

  async function ensure(runtime: Runtime, signal: AbortSignal): Promise<Problem | undefined> {
    await informer.whenSynced(signal);
    const object = wanted(runtime);
    const live = informer.get(keyOf(object));
    if (live === undefined) {
      informer.noteWrite(await api.create(object));
      return undefined;
    }
    if (!controllerOf(live).includes(runtime.metadata.uid ?? "")) return collision(object);
    if (contains(live, object)) return undefined;
    if (isReplaced(live, object)) {
      const { uid, resourceVersion } = live.metadata;
      await api.delete(live.metadata, { preconditions: { uid, resourceVersion } });
      informer.noteDelete(live);
      informer.noteWrite(await api.create(object));
    } else {
      informer.noteWrite(await api.patch(object.metadata, withVersion(object, live)));
    }
    return undefined;
  }

  const collision = ({ metadata: { name } }: T): Problem => ({
    reason: "NameCollision",
    message: `${resource.kind} ${name} does not belong to this Runtime; delete it, or give the Runtime another name`,
  });

  return {
    start: (signal) => informer.start(signal),
    async ensure(runtime, signal) {
      try {
        return await ensure(runtime, signal);
      } catch (error) {
        if (isTerminating(error)) return undefined;
        // Not in the selection: it has not even the label of ours.
        if (isAlreadyExists(error)) return collision(wanted(runtime));
        const problem = refusal(error, "ObjectRefused", `${resource.kind} ${wanted(runtime).metadata.name}`);
        if (problem === undefined) throw error;
        return problem;
      }
    },
  };
}

/** The role of a binding can never be changed. */
const isReplaced = (live: object, wanted: object): boolean =>
  "roleRef" in live && "roleRef" in wanted && !contains(live.roleRef, wanted.roleRef);

function withVersion<T extends KubeObject>(object: T, { metadata: { uid, resourceVersion } }: T): object {
  return { ...object, metadata: { ...object.metadata, uid, resourceVersion } };
}

/** Whether all that is wanted is there; what others added, defaults for example, does not matter. */
export function contains(live: unknown, wanted: unknown): boolean {
  if (typeof wanted !== "object" || wanted === null) return live === wanted;
  if (typeof live !== "object" || live === null) return false;
  if (Array.isArray(wanted)) {
    return Array.isArray(live) && live.length === wanted.length && wanted.every((item, i) => contains(live[i], item));
  }
  return Object.entries(wanted).every(([key, value]) => contains(Reflect.get(live, key), value));
}
