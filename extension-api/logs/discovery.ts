export const logsGroup = "logs.kruntimes.io";
export const logsVersion = "v1alpha1";
export const logsRoot = `/apis/${logsGroup}`;

const groupVersion = `${logsGroup}/${logsVersion}`;
const version = { groupVersion, version: logsVersion };

/** What the group has, as metav1.APIResource. */
export const logsResources = [
  // `runs` without verbs: with any, `kubectl get runs` would ask here; without the entry, `auth can-i` knows no subresource.
  { name: "runs", singularName: "", namespaced: true, kind: "Run", verbs: [] as string[] },
  { name: "runs/log", singularName: "", namespaced: true, kind: "RunLog", verbs: ["get"] },
] as const;

/** The group as one member of an APIGroupList. */
export const logsApiGroup = { name: logsGroup, versions: [version], preferredVersion: version };

/** Discovery of the group by path, so that clients know what there is. */
export const logsDiscovery: Readonly<Record<string, object>> = {
  [logsRoot]: { kind: "APIGroup", apiVersion: "v1", ...logsApiGroup },
  [`${logsRoot}/${logsVersion}`]: {
    kind: "APIResourceList",
    apiVersion: "v1",
    groupVersion,
    resources: logsResources,
  },
};
