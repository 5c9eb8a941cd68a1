import { duplicate, type FieldError, forbidden, invalid, required, tooLong } from "../field-errors.ts";
import { equalJson, getPath, isObject, isStringMap } from "../json.ts";
import type { Draft, Kind, StoredObject } from "../types.ts";
import { defineKind } from "./define.ts";

/** Built-in kinds that are little more than stored. */

const secret = defineKind({
  group: "",
  version: "v1",
  kind: "Secret",
  plural: "secrets",
  selectable: ["type"],
  admit(draft) {
    const { stringData, ...rest } = draft;
    const data = { ...(isObject(rest.data) ? rest.data : {}) };
    for (const [key, value] of Object.entries(isStringMap(stringData) ? stringData : {})) {
      data[key] = Buffer.from(value).toString("base64");
    }
    return { ...rest, type: rest.type ?? "Opaque", ...(Object.keys(data).length > 0 ? { data } : {}) } as Draft;
  },
  validate: (draft, old) => [
    ...validateData(draft, ["data"]),
    ...validateType(draft),
    ...validateImmutable(draft, old, ["data"]),
  ],
});

const configMap = defineKind({
  group: "",
  version: "v1",
  kind: "ConfigMap",
  plural: "configmaps",
  shortNames: ["cm"],
  validate: (draft, old) => [
    ...validateData(draft, ["data", "binaryData"]),
    ...validateImmutable(draft, old, ["data", "binaryData"]),
  ],
});

const dataKey = /^[-._a-zA-Z0-9]{1,253}$/;

/** MaxSecretSize of Kubernetes: of all values together. */
const maxDataBytes = 1024 * 1024;

/** Types of Secrets that have to have certain keys: at least one of them. */
const keysOfType: Readonly<Record<string, readonly string[]>> = {
  "kubernetes.io/basic-auth": ["username", "password"],
  "kubernetes.io/ssh-auth": ["ssh-privatekey"],
};

function validateType({ type, data }: Draft): FieldError[] {
  const keys = keysOfType[String(type)];
  if (keys === undefined || keys.some((key) => isObject(data) && key in data)) return [];
  return keys.map((key) => required(`data[${key}]`));
}

/** A key is also the name of a file in a volume. */
function wrongKey(key: string): string | undefined {
  if (!dataKey.test(key)) {
    return "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";
  }
  if (key === "." || key === "..") return `must not be '${key}'`;
  return key.startsWith("..") ? "must not start with '..'" : undefined;
}

function validateData(draft: Draft, members: readonly string[]): FieldError[] {
  const errors: FieldError[] = [];
  const seen = new Set<string>();
  let bytes = 0;
  for (const member of members) {
    const data = draft[member];
    if (data === undefined || data === null) continue;
    if (!isStringMap(data)) {
      errors.push(invalid(member, data, "must be a map of strings"));
      continue;
    }
    const isText = member === "data" && members.length > 1;
    for (const value of Object.values(data)) bytes += Buffer.byteLength(value, isText ? "utf8" : "base64");
    for (const key of Object.keys(data)) {
      const wrong = wrongKey(key);
      if (wrong !== undefined) errors.push(invalid(`${member}[${key}]`, key, wrong));
      if (seen.has(key)) errors.push(duplicate(`${member}[${key}]`, key));
      seen.add(key);
    }
  }
  if (bytes > maxDataBytes) errors.push(tooLong("data", maxDataBytes));
  return errors;
}

function validateImmutable(draft: Draft, old: StoredObject | undefined, members: readonly string[]): FieldError[] {
  if (old?.immutable !== true) return [];
  const detail = "field is immutable when `immutable` is set";
  return [
    ...(draft.immutable === true ? [] : [forbidden("immutable", detail)]),
    ...members.filter((member) => !equalJson(draft[member], old[member])).map((member) => forbidden(member, detail)),
  ];
}

const lease = defineKind({
  group: "coordination.k8s.io",
  version: "v1",
  kind: "Lease",
  plural: "leases",
  unconditionalUpdate: false,
  validate(draft) {
    const errors: FieldError[] = [];
    const duration = getPath(draft, ["spec", "leaseDurationSeconds"]);
    const transitions = getPath(draft, ["spec", "leaseTransitions"]);
    if (duration !== undefined && duration !== null && !(typeof duration === "number" && duration > 0)) {
      errors.push(invalid("spec.leaseDurationSeconds", duration, "must be greater than 0"));
    }
    if (transitions !== undefined && transitions !== null && !(typeof transitions === "number" && transitions >= 0)) {
      errors.push(invalid("spec.leaseTransitions", transitions, "must be greater than or equal to 0"));
    }
    return errors;
  },
});

const serviceAccount = defineKind({
  group: "",
  version: "v1",
  kind: "ServiceAccount",
  plural: "serviceaccounts",
  shortNames: ["sa"],
  returnsDeleted: true,
});

const persistentVolumeClaim = defineKind({
  group: "",
  version: "v1",
  kind: "PersistentVolumeClaim",
  plural: "persistentvolumeclaims",
  shortNames: ["pvc"],
  subresources: ["status"],
  returnsDeleted: true,
  prepareCreate(draft) {
    draft.status = { phase: "Pending" };
  },
  validate(draft, _old, subresource) {
    if (subresource !== undefined) return [];
    const errors: FieldError[] = [];
    const modes = getPath(draft, ["spec", "accessModes"]);
    if (!Array.isArray(modes) || modes.length === 0)
      errors.push(required("spec.accessModes", "at least 1 access mode is required"));
    const storage = getPath(draft, ["spec", "resources", "requests", "storage"]);
    if (storage === undefined) errors.push(required("spec.resources[storage]"));
    return errors;
  },
});

const controllerRevision = defineKind({
  group: "apps",
  version: "v1",
  kind: "ControllerRevision",
  plural: "controllerrevisions",
  validate(draft, old) {
    if (draft.data === undefined || draft.data === null) return [required("data", "data is mandatory")];
    return old === undefined || equalJson(draft.data, old.data)
      ? []
      : [invalid("data", draft.data, "field is immutable")];
  },
});

const roleBinding = defineKind({
  group: "rbac.authorization.k8s.io",
  version: "v1",
  kind: "RoleBinding",
  plural: "rolebindings",
  nameRule: "path",
  validate(draft, old) {
    const errors: FieldError[] = [];
    for (const member of ["kind", "name"]) {
      if (!getPath(draft, ["roleRef", member])) errors.push(required(`roleRef.${member}`));
    }
    if (old !== undefined && !equalJson(draft.roleRef, old.roleRef))
      errors.push(invalid("roleRef", draft.roleRef, "cannot change roleRef"));
    return errors;
  },
});

const service = defineKind({
  group: "",
  version: "v1",
  kind: "Service",
  plural: "services",
  shortNames: ["svc"],
  categories: ["all"],
  nameRule: "label1035",
  subresources: ["status"],
  selectable: ["spec.clusterIP", "spec.type"],
  returnsDeleted: true,
  admit: (draft) => ({
    ...draft,
    spec: { type: "ClusterIP", sessionAffinity: "None", ...(isObject(draft.spec) ? draft.spec : {}) },
  }),
  prepareCreate(draft) {
    draft.status = { loadBalancer: {} };
  },
});

const networkPolicy = defineKind({
  group: "networking.k8s.io",
  version: "v1",
  kind: "NetworkPolicy",
  plural: "networkpolicies",
  shortNames: ["netpol"],
  generation: true,
});

/** Kinds that differ from plain storage in a default or a check at most. */
export const coreKinds: readonly Kind[] = [
  secret,
  configMap,
  serviceAccount,
  persistentVolumeClaim,
  service,
  lease,
  controllerRevision,
  roleBinding,
  networkPolicy,
];
