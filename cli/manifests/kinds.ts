import { kinds as ownKinds } from "#api/crd/kinds.ts";
import type { KubeObject } from "#api/meta.ts";
import { actions, persistentWorkspaces, runs, runtimes, workflowRuns, workflows } from "#api/resources.ts";
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
] as readonly AnyResource[];

/** Kinds that Kubernetes has for what one of ours does; people try them first. */
const instead: Readonly<Record<string, string>> = {
  Pod: "Write a Run, or a Runtime for Pods that are kept.",
  Deployment: "Write a Runtime: its Pods are kept running.",
  ReplicaSet: "Write a Runtime: its Pods are kept running.",
  Job: "Write a Run.",
  CronJob: "Write a Workflow.",
  WorkflowAction: "It asks something of a WorkflowRun that exists: create it with kubectl, or use krt workflow stop.",
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
    const served = `A local cluster takes ${names.join(", ")}.`;
    const known = kind in ownKinds || kind in instead;
    const advice = instead[kind] ?? suggestion(kind, names) ?? served;
    return { field: "kind", message: `${known ? "a local cluster has" : "there is"} no kind ${kind}`, advice };
  }
  const expected = apiVersionOf(resource);
  if (apiVersion === expected) return resource;
  return {
    field: "apiVersion",
    message: `there is no ${kind} in apiVersion ${apiVersion}`,
    advice: `Write apiVersion: ${expected}.`,
  };
}
