import type { KubeObject } from "#api/meta.ts";
import {
  actions,
  persistentWorkspaces,
  runs,
  runtimes,
  workflowActions,
  workflowRuns,
  workflows,
} from "#api/resources.ts";
import {
  apiVersionOf,
  configMaps,
  namespaces,
  networkPolicies,
  persistentVolumeClaims,
  roleBindings,
  secrets,
  serviceAccounts,
  services,
} from "#kube/builtin.ts";
import type { ResourceType } from "#kube/resource.ts";
import { suggestion } from "../closest.ts";

type AnyResource = ResourceType<KubeObject>;

/** What manifests may hold, in the order in which it is applied: what others refer to comes first. */
const order: readonly AnyResource[] = [
  namespaces,
  secrets,
  configMaps,
  serviceAccounts,
  roleBindings,
  services,
  networkPolicies,
  persistentVolumeClaims,
  runtimes,
  persistentWorkspaces,
  actions,
  workflows,
  runs,
  workflowRuns,
  workflowActions,
] as readonly AnyResource[];

/** Kinds that Kubernetes has for what one of ours does; people try them first. */
const instead: Readonly<Record<string, string>> = {
  Pod: "Write a Run, or a Runtime for Pods that are kept.",
  Deployment: "Write a Runtime: its Pods are kept running.",
  ReplicaSet: "Write a Runtime: its Pods are kept running.",
  Job: "Write a Run.",
  CronJob: "Write a Workflow.",
};

/** Position of a kind in the order of application. */
export const rankOf = (resource: AnyResource): number => order.indexOf(resource);

/** The kind that a manifest names, or what is wrong with the name and where: in its `apiVersion` or its `kind`. */
export function findKind(
  apiVersion: string,
  kind: string,
): AnyResource | { readonly field: "apiVersion" | "kind"; readonly message: string; readonly advice: string } {
  const resource = order.find((one) => one.kind === kind);
  if (resource === undefined) {
    const names = order.map((one) => one.kind);
    const advice = instead[kind] ?? suggestion(kind, names) ?? `krt takes ${names.join(", ")}.`;
    return { field: "kind", message: kind in instead ? `krt takes no ${kind}` : `there is no kind ${kind}`, advice };
  }
  const expected = apiVersionOf(resource);
  if (apiVersion === expected) return resource;
  return {
    field: "apiVersion",
    message: `there is no ${kind} in apiVersion ${apiVersion}`,
    advice: `Write apiVersion: ${expected}.`,
  };
}
