import { type Context, timestamp } from "./context.ts";

/** These exist from the start and cannot be deleted. */
export const permanentNamespaces: ReadonlySet<string> = new Set(["default", "kube-system", "kube-public"]);

/** Creates the namespaces that every cluster has, where storage does not hold them yet. */
export function bootstrapNamespaces(context: Context): void {
  for (const name of permanentNamespaces) {
    if (context.storage.get({ resource: "namespaces", namespace: "", name }) !== undefined) continue;
    context.put("namespaces", {
      apiVersion: "v1",
      kind: "Namespace",
      metadata: {
        name,
        uid: context.random.uuid(),
        creationTimestamp: timestamp(context.clock.now()),
        labels: { "kubernetes.io/metadata.name": name },
      },
      spec: { finalizers: ["kubernetes"] },
      status: { phase: "Active" },
    });
  }
}
