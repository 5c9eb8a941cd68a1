import type { Kind } from "../types.ts";
import { defineCustomKind } from "./kind.ts";
import type { CustomResourceDefinition } from "./types.ts";

/**
 * Kinds from CustomResourceDefinitions.
 *
 * @throws Error that names the CRD and the path inside it.
 */
export function loadCustomKinds(crds: readonly CustomResourceDefinition[]): Kind[] {
  return crds.flatMap((crd) => {
    try {
      return loadCrd(crd);
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      throw new Error(`CustomResourceDefinition ${crd.metadata.name}: ${why}`, { cause: error });
    }
  });
}

function loadCrd(crd: CustomResourceDefinition): Kind[] {
  const { group, names, versions } = crd.spec;
  const expected = `${names.plural}.${group}`;
  if (crd.metadata.name !== expected)
    throw new Error(`metadata.name must be spec.names.plural + "." + spec.group, ${expected}`);
  if (versions.filter((version) => version.storage).length !== 1) {
    throw new Error("spec.versions: exactly one version must have storage: true");
  }
  return versions.filter((version) => version.served).map((version) => defineCustomKind(crd.spec, version));
}
