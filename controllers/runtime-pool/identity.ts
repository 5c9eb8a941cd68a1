import type { Runtime } from "#api/kinds/runtime.ts";
import { labels } from "#api/labels.ts";
import { runtimes } from "#api/resources.ts";
import { controllerReference, type NetworkPolicy, type RoleBinding, type ServiceAccount } from "#kube/builtin.ts";

/** Name of the objects that the Pods of a Runtime need beside them. */
export const identityName = (runtime: string): string => `runtime-${runtime}`;

function metadataOf(runtime: Runtime) {
  const { name, namespace } = runtime.metadata;
  return {
    name: identityName(name),
    ...(namespace === undefined ? {} : { namespace }),
    labels: {
      [labels.runtime]: name,
      [labels.name]: "kruntimes",
      [labels.component]: "runtime",
      [labels.instance]: name,
      [labels.managedBy]: "kruntimes",
    },
    // Collected with the Runtime, so nothing of them outlives it.
    ownerReferences: [controllerReference(runtimes, runtime)],
  };
}

/** The identity of the agents of one Runtime. No Pod gets its token by itself: the template mounts it into the agent. */
export function serviceAccountOf(runtime: Runtime): ServiceAccount {
  return { metadata: metadataOf(runtime), automountServiceAccountToken: false };
}

/** What these agents may do, in their namespace only. */
export function roleBindingOf(runtime: Runtime, clusterRole: string): RoleBinding {
  const metadata = metadataOf(runtime);
  const { name, namespace } = metadata;
  return {
    metadata,
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: clusterRole },
    subjects: [{ kind: "ServiceAccount", name, ...(namespace === undefined ? {} : { namespace }) }],
  };
}

/**
 * Nobody calls a Pod of a pool: work comes by the API server, logs by the kubelet, files by port-forward. The kubelet is
 * not held to it. Policies add up, so an operator can admit a scraper or a container of a template by one of their own.
 */
export function networkPolicyOf(runtime: Runtime): NetworkPolicy {
  return {
    metadata: metadataOf(runtime),
    spec: {
      podSelector: { matchLabels: { [labels.runtime]: runtime.metadata.name } },
      // No ingress rule: nothing is admitted.
      policyTypes: ["Ingress"],
    },
  };
}
