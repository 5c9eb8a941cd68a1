import { fieldReader, keep } from "../kinds/define.ts";
import type { Kind, ScalePaths, StoredObject } from "../types.ts";
import type { CustomResourceDefinitionSpec, CustomResourceVersion } from "./types.ts";

/** One served version of a CRD as a kind. */
export function defineCustomKind(spec: CustomResourceDefinitionSpec, version: CustomResourceVersion): Kind {
  const { group, names } = spec;
  const apiVersion = `${group}/${version.name}`;
  const hasStatus = version.subresources?.status !== undefined;
  const scale = version.subresources?.scale;
  const storageVersion = `${group}/${spec.versions.find((candidate) => candidate.storage)?.name ?? version.name}`;
  return {
    group,
    version: version.name,
    apiVersion,
    kind: names.kind,
    listKind: names.listKind ?? `${names.kind}List`,
    plural: names.plural,
    singular: names.singular ?? names.kind.toLowerCase(),
    shortNames: names.shortNames ?? [],
    categories: names.categories ?? [],
    namespaced: spec.scope === "Namespaced",
    resource: `${names.plural}.${group}`,
    custom: true,
    subresources: new Set([...(hasStatus ? ["status"] : []), ...(scale === undefined ? [] : ["scale"])]),
    ...(scale === undefined ? {} : { scale: scalePaths(scale) }),
    generation: true,
    unconditionalUpdate: false,
    selectable: new Map(
      (version.selectableFields ?? []).map(({ jsonPath }) => [
        jsonPath.replace(/^\./, ""),
        fieldReader(jsonPath.replace(/^\./, "")),
      ]),
    ),
    unknownField: (label) => `field label not supported: ${label}`,
    nameRule: "subdomain",
    returnsDeleted: false,
    ...(storageVersion === apiVersion ? {} : { encode: (object: StoredObject) => ({ ...object, apiVersion }) }),
    admit: (draft) => draft,
    prepareCreate(draft) {
      if (hasStatus) delete draft.status;
    },
    prepareUpdate(draft, old, subresource) {
      if (subresource === "status") {
        const { status, metadata } = draft;
        for (const member of Object.keys(draft)) delete draft[member];
        Object.assign(draft, old, {
          metadata: {
            ...old.metadata,
            ...(metadata.resourceVersion === undefined ? {} : { resourceVersion: metadata.resourceVersion }),
          },
        });
        if (status === undefined) delete draft.status;
        else draft.status = status;
      } else if (subresource === undefined && hasStatus) {
        keep(draft, old, "status");
      }
    },
    validate: () => [],
  };
}

function scalePaths(scale: NonNullable<NonNullable<CustomResourceVersion["subresources"]>["scale"]>): ScalePaths {
  const split = (path: string): string[] => path.replace(/^\./, "").split(".");
  return {
    specReplicas: split(scale.specReplicasPath),
    statusReplicas: split(scale.statusReplicasPath),
    ...(scale.labelSelectorPath === undefined ? {} : { labelSelector: split(scale.labelSelectorPath) }),
  };
}
