import { getPath, isObject } from "../json.ts";
import { defineKind, keep } from "./define.ts";

/** These exist from the start and cannot be deleted. */
export const permanentNamespaces: ReadonlySet<string> = new Set(["default", "kube-system", "kube-public"]);

/** The finalizer in `spec.finalizers` that keeps a deleted namespace until its content is gone. */
const kubernetesFinalizer = "kubernetes";

/** Namespaces; what empties a deleted one is in `../namespaces.ts`. */
export const namespaceKind = defineKind({
  group: "",
  version: "v1",
  kind: "Namespace",
  plural: "namespaces",
  shortNames: ["ns"],
  namespaced: false,
  nameRule: "label",
  subresources: ["status", "finalize"],
  returnsDeleted: true,
  selectable: ["status.phase"],
  admit: (draft) => ({
    ...draft,
    metadata: {
      ...draft.metadata,
      labels: { ...draft.metadata.labels, "kubernetes.io/metadata.name": draft.metadata.name },
    },
  }),
  prepareCreate(draft) {
    draft.spec = { finalizers: [kubernetesFinalizer] };
    draft.status = { phase: "Active" };
    // with generateName the name is only known now
    draft.metadata.labels = { ...draft.metadata.labels, "kubernetes.io/metadata.name": draft.metadata.name };
  },
  // spec.finalizers changes through /finalize only
  prepareUpdate: (draft, old) => keep(draft, old, "spec"),
  prepareDelete(draft) {
    draft.status = { ...(isObject(draft.status) ? draft.status : {}), phase: "Terminating" };
  },
  holdsDeletion(object) {
    const finalizers = getPath(object, ["spec", "finalizers"]);
    return Array.isArray(finalizers) && finalizers.length > 0;
  },
  forbidsDeletion: ({ metadata }) =>
    permanentNamespaces.has(metadata.name) ? "this namespace may not be deleted" : undefined,
});
