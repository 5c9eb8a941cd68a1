import type { ReferenceKind } from "#api/pod-layout.ts";

/** Values of a Secret or ConfigMap by key; empty when there is no such object. */
export type ReferenceData = ReadonlyMap<string, Uint8Array>;

/**
 * The Secrets and ConfigMaps that the Runtime lists. They are mounted into the agent, which has no right to read any by the
 * API. What is read is of one moment, and may be behind the API server for as long as a kubelet takes (a minute or two).
 */
export interface References {
  /** All values of one object; undefined when the Runtime does not list it. */
  read(kind: ReferenceKind, name: string): Promise<ReferenceData | undefined>;
}

/** Those of a Runtime that lists none. */
export const noReferences: References = { read: async () => undefined };

/**
 * A Secret or ConfigMap, or a key or value in it, that the Run needs and does not have. The message names it and says what to
 * do; it never holds a value. The Run fails with reason SecretNotAvailable.
 */
export class MissingReferenceError extends Error {
  override readonly name = "MissingReferenceError";
}
