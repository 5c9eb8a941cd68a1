import { apiVersion, group, labels, version } from "../labels.ts";
import type { CelRule } from "../schema.ts";
import type { Column, KindEntry } from "./kinds.ts";
import { type Structural, structural } from "./structural.ts";

/** apiextensions.k8s.io/v1 CustomResourceDefinition, as far as ours use it. */
export interface CustomResourceDefinition {
  readonly apiVersion: "apiextensions.k8s.io/v1";
  readonly kind: "CustomResourceDefinition";
  readonly metadata: { readonly name: string; readonly labels: Readonly<Record<string, string>> };
  readonly spec: {
    readonly group: string;
    readonly scope: "Namespaced";
    readonly names: {
      readonly kind: string;
      readonly listKind: string;
      readonly plural: string;
      readonly singular: string;
      readonly shortNames?: readonly string[];
      readonly categories: readonly string[];
    };
    readonly versions: readonly [CustomResourceVersion];
  };
}

export interface CustomResourceVersion {
  readonly name: string;
  readonly served: true;
  readonly storage: true;
  readonly additionalPrinterColumns: readonly Column[];
  readonly selectableFields?: readonly { readonly jsonPath: string }[];
  readonly subresources: {
    readonly status: Record<string, never>;
    readonly scale?: {
      readonly specReplicasPath: string;
      readonly statusReplicasPath: string;
      readonly labelSelectorPath: string;
    };
  };
  readonly schema: { readonly openAPIV3Schema: Structural };
}

/**
 * The CustomResourceDefinition of a kind. `transition` is the rule that its statechart puts on `status`: only moves of the
 * chart are accepted, whoever sends them. It is a parameter because charts are built on this folder.
 */
export function customResourceDefinition(entry: KindEntry, transition?: CelRule): CustomResourceDefinition {
  const { kind, plural } = entry.resource;
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${group}`, labels: { [labels.name]: "kruntimes", [labels.partOf]: "kruntimes" } },
    spec: {
      group,
      scope: "Namespaced",
      names: {
        kind,
        listKind: `${kind}List`,
        plural,
        singular: kind.toLowerCase(),
        ...(entry.shortNames.length > 0 ? { shortNames: entry.shortNames } : {}),
        categories: ["kruntimes"],
      },
      versions: [
        {
          name: version,
          served: true,
          storage: true,
          additionalPrinterColumns: entry.columns,
          ...(entry.selectable.length > 0
            ? { selectableFields: entry.selectable.map((jsonPath) => ({ jsonPath })) }
            : {}),
          subresources: {
            status: {},
            ...(entry.scale
              ? {
                  scale: {
                    specReplicasPath: ".spec.replicas",
                    statusReplicasPath: ".status.replicas",
                    labelSelectorPath: ".status.selector",
                  },
                }
              : {}),
          },
          schema: { openAPIV3Schema: objectSchema(entry, transition) },
        },
      ],
    },
  };
}

function objectSchema(entry: KindEntry, transition: CelRule | undefined): Structural {
  const status = structural(entry.status, "$.status");
  if (transition !== undefined) {
    status["x-kubernetes-validations"] = [...(status["x-kubernetes-validations"] ?? []), transition];
  }
  return {
    description: entry.description,
    type: "object",
    required: ["spec"],
    properties: {
      apiVersion: { description: `Always \`${apiVersion}\`.`, type: "string" },
      kind: { description: `Always \`${entry.resource.kind}\`.`, type: "string" },
      metadata: metadataSchema(entry),
      spec: structural(entry.spec, "$.spec"),
      status,
    },
  };
}

/** A CRD may say nothing of metadata but the form of names (apiextensions.k8s.io/v1). */
function metadataSchema({ name }: KindEntry): Structural {
  if (name === undefined) return { type: "object" };
  return {
    type: "object",
    properties: {
      name: {
        type: "string",
        ...(name.pattern === undefined ? {} : { pattern: name.pattern }),
        maxLength: name.maxLength,
      },
    },
  };
}
