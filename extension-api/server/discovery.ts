import { logsApiGroup, logsGroup, logsResources, logsVersion } from "../logs/discovery.ts";

/** `GET /apis` in the form that every client understands. */
export const groupList = { kind: "APIGroupList", apiVersion: "v1", groups: [logsApiGroup] };

const forms = ["v2", "v2beta1"] as const;
export type AggregatedForm = (typeof forms)[number];

/** The form of aggregated discovery that is asked for; undefined: none. */
export function aggregatedForm(accept: string | undefined): AggregatedForm | undefined {
  for (const range of (accept ?? "").split(",")) {
    const [type, ...parameters] = range.split(";").map((part) => part.trim());
    if (type !== "application/json" || !parameters.includes("as=APIGroupDiscoveryList")) continue;
    const form = forms.find((one) => parameters.includes(`v=${one}`));
    if (form !== undefined && parameters.includes("g=apidiscovery.k8s.io")) return form;
  }
  return undefined;
}

export const aggregatedType = (form: AggregatedForm) =>
  `application/json;g=apidiscovery.k8s.io;v=${form};as=APIGroupDiscoveryList`;

/** `GET /apis` as one document with all resources. */
export function aggregatedDiscovery(form: AggregatedForm): object {
  const [whole, ...parts] = logsResources;
  const kindOf = ({ kind }: { readonly kind: string }) => ({ group: logsGroup, version: logsVersion, kind });
  return {
    kind: "APIGroupDiscoveryList",
    apiVersion: `apidiscovery.k8s.io/${form}`,
    metadata: {},
    items: [
      {
        metadata: { name: logsGroup, creationTimestamp: null },
        versions: [
          {
            version: logsVersion,
            freshness: "Current",
            resources: [
              {
                resource: whole.name,
                responseKind: kindOf(whole),
                scope: "Namespaced",
                singularResource: "run",
                verbs: whole.verbs,
                subresources: parts.map((part) => ({
                  subresource: part.name.slice(whole.name.length + 1),
                  responseKind: kindOf(part),
                  verbs: part.verbs,
                })),
              },
            ],
          },
        ],
      },
    ],
  };
}
