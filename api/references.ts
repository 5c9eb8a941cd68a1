import type { Run } from "./kinds/run.ts";
import type { RuntimeSpec } from "./kinds/runtime.ts";
import type { ReferenceKind } from "./pod-layout.ts";

/** A Secret or ConfigMap that a Run names. */
export interface Reference {
  readonly kind: ReferenceKind;
  readonly name: string;
  /** Path of the field that names it. */
  readonly path: string;
}

/** Field of a Runtime that lists what of a kind its Runs may refer to. */
export const listedIn = { Secret: "secrets", ConfigMap: "configMaps" } as const satisfies Record<ReferenceKind, string>;

/** Everything that a Run refers to. */
export function referencesOf({ spec }: Pick<Run, "spec">): readonly Reference[] {
  const found: Reference[] = [];
  const credentials = spec.source?.credentialsSecretName;
  if (credentials !== undefined) {
    found.push({ kind: "Secret", name: credentials, path: "spec.source.credentialsSecretName" });
  }
  for (const [index, { valueFrom }] of (spec.env ?? []).entries()) {
    const at = `spec.env[${index}].valueFrom`;
    const { secretKeyRef, configMapKeyRef } = valueFrom ?? {};
    if (secretKeyRef) found.push({ kind: "Secret", name: secretKeyRef.name, path: `${at}.secretKeyRef.name` });
    if (configMapKeyRef) {
      found.push({ kind: "ConfigMap", name: configMapKeyRef.name, path: `${at}.configMapKeyRef.name` });
    }
  }
  return found;
}

/** Whether Runs of the Runtime may refer to it. */
export function isListed(runtime: Pick<RuntimeSpec, "secrets" | "configMaps">, { kind, name }: Reference): boolean {
  return (runtime[listedIn[kind]] ?? []).includes(name);
}

/** `Secret/NAME` or `ConfigMap/NAME`. */
export const referenceKey = ({ kind, name }: Pick<Reference, "kind" | "name">): string => `${kind}/${name}`;

/** The {@link referenceKey}s of all that Runs of the Runtime may refer to. */
export function listedKeys(runtime: Pick<RuntimeSpec, "secrets" | "configMaps">): string[] {
  return (["Secret", "ConfigMap"] as const).flatMap((kind) =>
    (runtime[listedIn[kind]] ?? []).map((name) => referenceKey({ kind, name })),
  );
}
