import type { ObjectMeta } from "./meta.ts";

/**
 * The object with a status that was computed from its current generation: `observedGeneration` tells readers whether
 * the status answers the spec that they see (Kubernetes API conventions).
 */
export function withStatus<T extends { readonly metadata: ObjectMeta }, S extends object>(
  object: T,
  status: S,
): T & { status: S & { observedGeneration?: number } } {
  const { generation } = object.metadata;
  return { ...object, status: generation === undefined ? status : { ...status, observedGeneration: generation } };
}
