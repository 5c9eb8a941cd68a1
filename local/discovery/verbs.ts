import type { Kind } from "#local/apiserver/index.ts";
import { isReview } from "#local/apiserver/kinds/access-review.ts";

/** What can be asked of a kind: the one source of discovery and of the operations in OpenAPI documents. */

const everything = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"] as const;

/** Verbs of the objects of a kind, in alphabetical order. */
export function verbsOf(kind: Kind): readonly string[] {
  if (isReview(kind)) return ["create"];
  return kind.resource === "namespaces" ? everything.filter((verb) => verb !== "deletecollection") : everything;
}

/** A subresource as discovery describes it. */
export interface Subresource {
  readonly name: string;
  readonly verbs: readonly string[];
  /** The kind of its bodies where that is not the kind of the object. */
  readonly body?: { readonly group: string; readonly version: string; readonly kind: string };
}

/** Subresources of a kind, in alphabetical order. */
export function subresourcesOf(kind: Kind): readonly Subresource[] {
  const names = [...kind.subresources, ...(kind.resource === "pods" ? ["log"] : [])].sort();
  return names.map((name) => {
    switch (name) {
      case "scale":
        return {
          name,
          verbs: ["get", "patch", "update"],
          body: { group: "autoscaling", version: "v1", kind: "Scale" },
        };
      case "binding":
        return { name, verbs: ["create"], body: { group: "", version: "v1", kind: "Binding" } };
      case "log":
        return { name, verbs: ["get"] };
      case "finalize":
        return { name, verbs: ["update"] };
      default:
        return { name, verbs: ["get", "patch", "update"] };
    }
  });
}
