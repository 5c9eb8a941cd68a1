/**
 * The built-in kinds that this project reads or writes. Only the fields that some code here names are spelled out;
 * parts that users fill in freely (Pod specs) are open for the rest, so nothing is lost when we copy them.
 * Times are RFC 3339 strings, as on the wire.
 */
import type { Condition, KubeObject, OwnerReference } from "#api/meta.ts";
import type { ResourceType } from "#kube/resource.ts";

/** Fields that we carry along without reading them. */
export interface Open {
  [field: string]: unknown;
}

export interface EnvVar extends Open {
  name: string;
  value?: string;
  valueFrom?: Open;
}

export interface VolumeMount extends Open {
  name: string;
  mountPath: string;
  subPath?: string;
  readOnly?: boolean;
}

export interface Volume extends Open {
  name: string;
  emptyDir?: { medium?: string; sizeLimit?: string };
  persistentVolumeClaim?: { claimName: string; readOnly?: boolean };
  secret?: { secretName?: string; optional?: boolean; defaultMode?: number };
  configMap?: { name?: string; optional?: boolean; defaultMode?: number };
}

export interface Container extends Open {
  name: string;
  image?: string;
  command?: string[];
  args?: string[];
  workingDir?: string;
  env?: EnvVar[];
  volumeMounts?: VolumeMount[];
  resources?: { requests?: Record<string, string>; limits?: Record<string, string> };
  /** `Always` on an init container makes it a native sidecar. */
  restartPolicy?: string;
}

export interface PodSpec extends Open {
  containers: Container[];
  initContainers?: Container[];
  volumes?: Volume[];
  nodeName?: string;
  serviceAccountName?: string;
  automountServiceAccountToken?: boolean;
  terminationGracePeriodSeconds?: number;
  restartPolicy?: "Always" | "OnFailure" | "Never";
  securityContext?: Open;
  nodeSelector?: Record<string, string>;
  tolerations?: Open[];
  affinity?: Open;
}

export interface ContainerState {
  waiting?: { reason?: string; message?: string };
  running?: { startedAt?: string };
  terminated?: { exitCode: number; signal?: number; reason?: string; message?: string; finishedAt?: string };
}

export interface ContainerStatus {
  name: string;
  ready: boolean;
  restartCount: number;
  started?: boolean;
  image?: string;
  state?: ContainerState;
  /** Of the run of the container before. */
  lastState?: ContainerState;
}

/** Conditions of Pods: their times and texts may be absent. */
export interface PodCondition {
  type: string;
  status: "True" | "False" | "Unknown";
  reason?: string;
  message?: string;
  lastTransitionTime?: string | null;
}

export interface PodStatus {
  phase?: "Pending" | "Running" | "Succeeded" | "Failed" | "Unknown";
  reason?: string;
  message?: string;
  podIP?: string;
  hostIP?: string;
  startTime?: string;
  conditions?: PodCondition[];
  containerStatuses?: ContainerStatus[];
  initContainerStatuses?: ContainerStatus[];
}

export interface Pod extends KubeObject {
  spec: PodSpec;
  status?: PodStatus;
}

/** What a template says of the objects made from it; the name comes from the maker. */
export interface TemplateMeta {
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  finalizers?: string[];
}

export interface PodTemplateSpec {
  metadata?: TemplateMeta;
  spec: PodSpec;
}

export interface LabelSelectorRequirement {
  key: string;
  operator: "In" | "NotIn" | "Exists" | "DoesNotExist";
  values?: string[];
}

/** metav1.LabelSelector. */
export interface LabelSelector {
  matchLabels?: Record<string, string>;
  matchExpressions?: LabelSelectorRequirement[];
}

export interface ReplicaSet extends KubeObject {
  spec: { replicas?: number; minReadySeconds?: number; selector: LabelSelector; template: PodTemplateSpec };
  status?: {
    replicas: number;
    readyReplicas?: number;
    availableReplicas?: number;
    fullyLabeledReplicas?: number;
    observedGeneration?: number;
    conditions?: PodCondition[];
  };
}

export interface Namespace extends KubeObject {
  spec?: { finalizers?: string[] };
  status?: { phase?: "Active" | "Terminating"; conditions?: PodCondition[] };
}

export interface Secret extends KubeObject {
  /** Values in base64. */
  data?: Record<string, string>;
  /** Written only; the API server turns it into `data`. */
  stringData?: Record<string, string>;
  type?: string;
  immutable?: boolean;
}

export interface ConfigMap extends KubeObject {
  data?: Record<string, string>;
  /** Values in base64. */
  binaryData?: Record<string, string>;
  immutable?: boolean;
}

export interface ObjectReference {
  apiVersion?: string;
  kind?: string;
  name?: string;
  namespace?: string;
  uid?: string;
  resourceVersion?: string;
  fieldPath?: string;
}

/** events.k8s.io/v1 Event. `eventTime` and `lastObservedTime` have microseconds. */
export interface Event extends KubeObject {
  eventTime: string;
  reportingController?: string;
  reportingInstance?: string;
  action?: string;
  reason?: string;
  regarding?: ObjectReference;
  related?: ObjectReference;
  note?: string;
  type?: "Normal" | "Warning";
  series?: { count: number; lastObservedTime: string };
}

/** coordination.k8s.io/v1 Lease. `acquireTime` and `renewTime` have microseconds. */
export interface Lease extends KubeObject {
  spec?: {
    holderIdentity?: string | null;
    leaseDurationSeconds?: number | null;
    acquireTime?: string | null;
    renewTime?: string | null;
    leaseTransitions?: number | null;
  };
}

export interface ServiceAccount extends KubeObject {
  automountServiceAccountToken?: boolean;
  imagePullSecrets?: { name: string }[];
}

export interface PersistentVolumeClaim extends KubeObject {
  spec: {
    accessModes?: string[];
    storageClassName?: string;
    volumeName?: string;
    resources?: { requests?: Record<string, string> };
  };
  status?: { phase?: "Pending" | "Bound" | "Lost"; capacity?: Record<string, string> };
}

export interface ControllerRevision extends KubeObject {
  data?: Open;
  revision: number;
}

export interface RoleBinding extends KubeObject {
  roleRef: { apiGroup: string; kind: "Role" | "ClusterRole"; name: string };
  subjects?: { kind: "ServiceAccount" | "User" | "Group"; apiGroup?: string; name: string; namespace?: string }[];
}

export interface Service extends KubeObject {
  spec: {
    selector?: Record<string, string>;
    clusterIP?: string;
    type?: string;
    publishNotReadyAddresses?: boolean;
    ports?: { name?: string; port: number; targetPort?: number | string; protocol?: string }[];
  };
}

export interface NetworkPolicyPeer {
  podSelector?: LabelSelector;
  namespaceSelector?: LabelSelector;
  ipBlock?: { cidr: string; except?: string[] };
}

export interface NetworkPolicy extends KubeObject {
  spec: {
    podSelector: LabelSelector;
    policyTypes?: ("Ingress" | "Egress")[];
    ingress?: { from?: NetworkPolicyPeer[]; ports?: Open[] }[];
    egress?: { to?: NetworkPolicyPeer[]; ports?: Open[] }[];
  };
}

function kind<T extends KubeObject>(
  group: string,
  version: string,
  name: string,
  plural: string,
  namespaced = true,
): ResourceType<T> {
  return { group, version, kind: name, plural, namespaced };
}

export const pods = kind<Pod>("", "v1", "Pod", "pods");
export const replicaSets = kind<ReplicaSet>("apps", "v1", "ReplicaSet", "replicasets");
export const namespaces = kind<Namespace>("", "v1", "Namespace", "namespaces", false);
export const secrets = kind<Secret>("", "v1", "Secret", "secrets");
export const configMaps = kind<ConfigMap>("", "v1", "ConfigMap", "configmaps");
export const events = kind<Event>("events.k8s.io", "v1", "Event", "events");
export const leases = kind<Lease>("coordination.k8s.io", "v1", "Lease", "leases");
export const serviceAccounts = kind<ServiceAccount>("", "v1", "ServiceAccount", "serviceaccounts");
export const persistentVolumeClaims = kind<PersistentVolumeClaim>(
  "",
  "v1",
  "PersistentVolumeClaim",
  "persistentvolumeclaims",
);
export const controllerRevisions = kind<ControllerRevision>("apps", "v1", "ControllerRevision", "controllerrevisions");
export const roleBindings = kind<RoleBinding>("rbac.authorization.k8s.io", "v1", "RoleBinding", "rolebindings");
export const services = kind<Service>("", "v1", "Service", "services");
export const networkPolicies = kind<NetworkPolicy>("networking.k8s.io", "v1", "NetworkPolicy", "networkpolicies");

/** `v1` or `GROUP/VERSION` of a kind, as in `apiVersion`. */
export function apiVersionOf(resource: Pick<ResourceType<KubeObject>, "group" | "version">): string {
  return resource.group === "" ? resource.version : `${resource.group}/${resource.version}`;
}

/** The owner reference that makes `owner` the controller of an object: it is collected when the owner goes. */
export function controllerReference<T extends KubeObject>(resource: ResourceType<T>, owner: T): OwnerReference {
  const { name, uid } = owner.metadata;
  if (uid === undefined) throw new Error(`${resource.kind} ${name} has no uid: read it from the API before owning`);
  return {
    apiVersion: apiVersionOf(resource),
    kind: resource.kind,
    name,
    uid,
    controller: true,
    blockOwnerDeletion: true,
  };
}

/** The condition of a type, from any object that has them. */
export function conditionOf<C extends PodCondition | Condition>(
  conditions: readonly C[] | undefined,
  type: string,
): C | undefined {
  return conditions?.find((condition) => condition.type === type);
}
