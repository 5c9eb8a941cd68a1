/**
 * Which lists of the built-in kinds a strategic merge patch merges instead of replacing, and by which member it tells
 * their items apart (the `patchStrategy` and `patchMergeKey` tags of k8s.io/api 1.34).
 */

/** How the value at one place of an object is merged. */
export interface MergeNode {
  /** Members that hold such lists somewhere below them; all others are merged or replaced by the common rules. */
  readonly members?: Readonly<Record<string, MergeNode>>;
  /** For a list: the member that tells its items apart, or `values` where items are texts of which each is held once. */
  readonly list?: { readonly key: string } | "values";
  /** For such a list: how each item is merged. */
  readonly item?: MergeNode;
  /** An item holds one of several alternatives; the patch says which keys remain (`retainKeys`). */
  readonly retainKeys?: true;
}

const keyed = (key: string, item?: MergeNode): MergeNode => ({
  list: { key },
  ...(item === undefined ? {} : { item }),
});

const metadata: MergeNode = { members: { finalizers: { list: "values" }, ownerReferences: keyed("uid") } };

const container: MergeNode = {
  members: {
    ports: keyed("containerPort"),
    env: keyed("name"),
    volumeMounts: keyed("mountPath"),
    volumeDevices: keyed("devicePath"),
  },
};

const alternatives = (key: string): MergeNode => ({ ...keyed(key), retainKeys: true });

const podSpec: MergeNode = {
  members: {
    containers: keyed("name", container),
    initContainers: keyed("name", container),
    ephemeralContainers: keyed("name", container),
    volumes: alternatives("name"),
    resourceClaims: alternatives("name"),
    imagePullSecrets: keyed("name"),
    hostAliases: keyed("ip"),
    topologySpreadConstraints: keyed("topologyKey"),
    schedulingGates: keyed("name"),
  },
};

const conditions: MergeNode = { members: { conditions: keyed("type") } };

const kinds: Readonly<Record<string, Readonly<Record<string, MergeNode>>>> = {
  pods: {
    spec: podSpec,
    status: {
      members: {
        conditions: keyed("type"),
        hostIPs: keyed("ip"),
        podIPs: keyed("ip"),
        resourceClaimStatuses: alternatives("name"),
      },
    },
  },
  "replicasets.apps": {
    spec: { members: { template: { members: { metadata, spec: podSpec } } } },
    status: conditions,
  },
  namespaces: { status: conditions },
  persistentvolumeclaims: { status: conditions },
  services: { spec: { members: { ports: keyed("port") } }, status: conditions },
  serviceaccounts: { secrets: keyed("name") },
};

/** How objects of a built-in kind are merged. */
export function mergeNodeOf(kind: { readonly resource: string }): MergeNode {
  return { members: { metadata, ...kinds[kind.resource] } };
}
