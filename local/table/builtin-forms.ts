import type { StoredObject } from "#local/apiserver/index.ts";
import { getPath, isObject } from "#local/apiserver/json.ts";
import { eventForm } from "./event-form.ts";
import { items, number, size, text, texts } from "./fields.ts";
import { ageColumn, column, nameColumn, type TableForm } from "./form.ts";
import { age } from "./human-duration.ts";
import { podForm } from "./pod-form.ts";

const created = (object: StoredObject, now: number) => age(object.metadata.creationTimestamp, now);
const nothing = "<none>";

const replicaSets: TableForm = {
  columns: [
    nameColumn,
    column("Desired", "Pods that there should be.", { type: "integer" }),
    column("Current", "Pods that there are.", { type: "integer" }),
    column("Ready", "Pods that are ready.", { type: "integer" }),
    ageColumn,
    column("Containers", "Names of the containers.", { wide: true }),
    column("Images", "Images of the containers.", { wide: true }),
    column("Selector", "Labels that the Pods have.", { wide: true }),
  ],
  cells(set, now) {
    const containers = items(set, "spec.template.spec.containers");
    return [
      set.metadata.name,
      number(set, "spec.replicas"),
      number(set, "status.replicas"),
      number(set, "status.readyReplicas"),
      created(set, now),
      containers.map(({ name }) => String(name)).join(","),
      containers.map(({ image }) => String(image ?? "")).join(","),
      selectorText(getPath(set, ["spec", "selector"])),
    ];
  },
};

const namespaces: TableForm = {
  columns: [nameColumn, column("Status", "Active, or Terminating while it is emptied."), ageColumn],
  cells: (namespace, now) => [namespace.metadata.name, text(namespace, "status.phase"), created(namespace, now)],
};

const configMaps: TableForm = {
  columns: [nameColumn, column("Data", "Number of entries."), ageColumn],
  cells: (map, now) => [map.metadata.name, size(map, "data") + size(map, "binaryData"), created(map, now)],
};

const secrets: TableForm = {
  columns: [
    nameColumn,
    column("Type", "What the entries are for."),
    column("Data", "Number of entries; values are not shown."),
    ageColumn,
  ],
  cells: (secret, now) => [secret.metadata.name, text(secret, "type"), size(secret, "data"), created(secret, now)],
};

const serviceAccounts: TableForm = {
  columns: [nameColumn, column("Secrets", "Number of Secrets that Pods of this account may use."), ageColumn],
  cells: (account, now) => [account.metadata.name, items(account, "secrets").length, created(account, now)],
};

const accessModes: Readonly<Record<string, string>> = {
  ReadWriteOnce: "RWO",
  ReadOnlyMany: "ROX",
  ReadWriteMany: "RWX",
  ReadWriteOncePod: "RWOP",
};

const persistentVolumeClaims: TableForm = {
  columns: [
    nameColumn,
    column("Status", "Phase of the claim."),
    column("Volume", "Volume that the claim is bound to."),
    column("Capacity", "Size of the volume."),
    column("Access Modes", "How the volume may be mounted."),
    column("StorageClass", "Class that the claim asks for."),
    column("VolumeAttributesClass", "Class of attributes that the claim asks for."),
    ageColumn,
    column("VolumeMode", "Filesystem or Block.", { wide: true }),
  ],
  cells(claim, now) {
    const bound = text(claim, "spec.volumeName") !== "";
    const modes = texts(claim, "status.accessModes").map((mode) => accessModes[mode] ?? mode);
    return [
      claim.metadata.name,
      claim.metadata.deletionTimestamp === undefined ? text(claim, "status.phase") : "Terminating",
      text(claim, "spec.volumeName"),
      bound ? text(claim, "status.capacity.storage") : "",
      bound ? modes.join(",") : "",
      text(claim, "spec.storageClassName"),
      text(claim, "spec.volumeAttributesClassName") || "<unset>",
      created(claim, now),
      text(claim, "spec.volumeMode") || "<unset>",
    ];
  },
};

const services: TableForm = {
  columns: [
    nameColumn,
    column("Type", "How the Service is reached."),
    column("Cluster-IP", "Its address inside the cluster."),
    column("External-IP", "Its addresses outside the cluster."),
    column("Port(s)", "Ports that it serves."),
    ageColumn,
    column("Selector", "Labels of the Pods behind it.", { wide: true }),
  ],
  cells(service, now) {
    const ports = items(service, "spec.ports").map(({ port, protocol }) => `${String(port)}/${protocol ?? "TCP"}`);
    return [
      service.metadata.name,
      text(service, "spec.type"),
      text(service, "spec.clusterIP") || nothing,
      texts(service, "spec.externalIPs").join(",") || nothing,
      ports.join(",") || nothing,
      created(service, now),
      labelsText(getPath(service, ["spec", "selector"])),
    ];
  },
};

const leases: TableForm = {
  columns: [nameColumn, column("Holder", "Who holds the Lease."), ageColumn],
  cells: (lease, now) => [lease.metadata.name, text(lease, "spec.holderIdentity"), created(lease, now)],
};

const controllerRevisions: TableForm = {
  columns: [
    nameColumn,
    column("Controller", "Object whose revision this is."),
    column("Revision", "Number of the revision.", { type: "integer" }),
    ageColumn,
  ],
  cells(revision, now) {
    const owner = revision.metadata.ownerReferences?.find(({ controller }) => controller === true);
    const group = owner?.apiVersion.includes("/") ? `.${owner.apiVersion.split("/")[0]}` : "";
    const name = owner === undefined ? nothing : `${owner.kind.toLowerCase()}${group}/${owner.name}`;
    return [revision.metadata.name, name, number(revision, "revision"), created(revision, now)];
  },
};

const roleBindings: TableForm = {
  columns: [
    nameColumn,
    column("Role", "Role that the binding grants."),
    ageColumn,
    column("Users", "Users that have the role.", { wide: true }),
    column("Groups", "Groups that have the role.", { wide: true }),
    column("ServiceAccounts", "Service accounts that have the role.", { wide: true }),
  ],
  cells(binding, now) {
    const subjects = (kind: string) => items(binding, "subjects").filter((subject) => subject.kind === kind);
    return [
      binding.metadata.name,
      `${text(binding, "roleRef.kind")}/${text(binding, "roleRef.name")}`,
      created(binding, now),
      subjects("User")
        .map((subject) => text(subject, "name"))
        .join(", "),
      subjects("Group")
        .map((subject) => text(subject, "name"))
        .join(", "),
      subjects("ServiceAccount")
        .map((subject) => `${text(subject, "namespace")}/${text(subject, "name")}`)
        .join(", "),
    ];
  },
};

const networkPolicies: TableForm = {
  columns: [nameColumn, column("Pod-Selector", "Pods that the policy is for."), ageColumn],
  cells: (policy, now) => [
    policy.metadata.name,
    selectorText(getPath(policy, ["spec", "podSelector"])),
    created(policy, now),
  ],
};

/** Tables of built-in kinds by their resource; those that are missing show name and age. */
export const builtinForms: ReadonlyMap<string, TableForm> = new Map([
  ["pods", podForm],
  ["events", eventForm],
  ["replicasets.apps", replicaSets],
  ["namespaces", namespaces],
  ["configmaps", configMaps],
  ["secrets", secrets],
  ["serviceaccounts", serviceAccounts],
  ["persistentvolumeclaims", persistentVolumeClaims],
  ["services", services],
  ["leases.coordination.k8s.io", leases],
  ["controllerrevisions.apps", controllerRevisions],
  ["rolebindings.rbac.authorization.k8s.io", roleBindings],
  ["networkpolicies.networking.k8s.io", networkPolicies],
]);

/** `a=b,c=d` in order of the keys. */
function labelsText(labels: unknown): string {
  if (!isObject(labels) || Object.keys(labels).length === 0) return nothing;
  return Object.keys(labels)
    .sort()
    .map((key) => `${key}=${String(labels[key])}`)
    .join(",");
}

/** A LabelSelector as one would type it after `-l`. */
function selectorText(selector: unknown): string {
  const labels = labelsText(getPath(selector, ["matchLabels"]));
  const expressions = items(selector, "matchExpressions").map((expression) => {
    const key = text(expression, "key");
    const values = `(${texts(expression, "values").join(",")})`;
    switch (text(expression, "operator")) {
      case "In":
        return `${key} in ${values}`;
      case "NotIn":
        return `${key} notin ${values}`;
      case "DoesNotExist":
        return `!${key}`;
      default:
        return key;
    }
  });
  return [...(labels === nothing ? [] : [labels]), ...expressions].join(",") || nothing;
}
