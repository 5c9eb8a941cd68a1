import { actions, persistentWorkspaces, runtimes, workflows } from "#api/resources.ts";
import { orNothing } from "#kube/or-nothing.ts";
import type { Client } from "#kube/resource.ts";
import type { Lookups } from "./review.ts";

/** Looks up by the API, never in a cache. */
export function liveLookups(client: () => Client): Lookups {
  return {
    workspace: (namespace, name) => orNothing(client().of(persistentWorkspaces).get({ namespace, name })),
    runtime: (namespace, name) => orNothing(client().of(runtimes).get({ namespace, name })),
    workflow: (namespace, name) => orNothing(client().of(workflows).get({ namespace, name })),
    action: (namespace, name) => orNothing(client().of(actions).get({ namespace, name })),
  };
}
