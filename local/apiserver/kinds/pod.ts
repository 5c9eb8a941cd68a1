import { type FieldError, forbidden, required } from "../field-errors.ts";
import { equalJson, getPath, isObject, type JsonObject } from "../json.ts";
import type { Draft, StoredObject } from "../types.ts";
import { defineKind } from "./define.ts";

/** Defaults of a Pod's spec that others rely on; the kubelet and kubectl are not served anything else. */
export const podDefaults = {
  restartPolicy: "Always",
  terminationGracePeriodSeconds: 30,
  dnsPolicy: "ClusterFirst",
  serviceAccountName: "default",
  securityContext: {},
  schedulerName: "default-scheduler",
};

/** Pods: Pending at first, bound once, gone after their grace. */
export const pod = defineKind({
  group: "",
  version: "v1",
  kind: "Pod",
  plural: "pods",
  shortNames: ["po"],
  categories: ["all"],
  subresources: ["status", "binding"],
  generation: true,
  returnsDeleted: true,
  selectable: [
    "spec.nodeName",
    "spec.restartPolicy",
    "spec.schedulerName",
    "spec.serviceAccountName",
    "spec.hostNetwork",
    "status.phase",
    "status.podIP",
    "status.nominatedNodeName",
  ],
  admit: (draft) => ({ ...draft, spec: { ...podDefaults, ...(isObject(draft.spec) ? draft.spec : {}) } }),
  prepareCreate(draft) {
    draft.status = { phase: "Pending" };
  },
  validate(draft, old, subresource) {
    if (subresource !== undefined) return [];
    return old === undefined ? validateNew(draft) : validateChange(draft, old);
  },
  gracePeriod,
});

/** Seconds a Pod gets to end: none unless it runs on a node and has not ended. */
function gracePeriod(object: StoredObject, asked: number | undefined): number {
  const spec = object.spec as JsonObject | undefined;
  const phase = getPath(object, ["status", "phase"]);
  if (!spec?.nodeName || phase === "Failed" || phase === "Succeeded") return 0;
  const own = spec.terminationGracePeriodSeconds;
  const period = asked ?? (typeof own === "number" ? own : 0);
  return period < 0 ? 1 : period;
}

function validateNew(draft: Draft): FieldError[] {
  const containers = getPath(draft, ["spec", "containers"]);
  if (!Array.isArray(containers) || containers.length === 0) return [required("spec.containers")];
  return containers.flatMap((container: unknown, index) =>
    ["name", "image"]
      .filter((member) => !isObject(container) || typeof container[member] !== "string" || container[member] === "")
      .map((member) => required(`spec.containers[${index}].${member}`)),
  );
}

const changeable =
  "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`," +
  "`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";

/** A Pod is what it was created as, but for images, deadline and tolerations. */
function validateChange(draft: Draft, old: StoredObject): FieldError[] {
  const before = isObject(old.spec) ? old.spec : {};
  // The local node is scheduler and kubelet in one and may bind by an update; a real one needs pods/binding for it.
  const nodeName = before.nodeName ?? getPath(draft, ["spec", "nodeName"]);
  if (equalJson(fixedPart(draft.spec), fixedPart({ ...before, ...(nodeName === undefined ? {} : { nodeName }) })))
    return [];
  return [forbidden("spec", `pod updates may not change fields other than ${changeable}`)];
}

function fixedPart(spec: unknown): unknown {
  if (!isObject(spec)) return spec;
  const { activeDeadlineSeconds: _deadline, tolerations: _tolerations, ...rest } = spec;
  return { ...rest, containers: withoutImages(rest.containers), initContainers: withoutImages(rest.initContainers) };
}

function withoutImages(containers: unknown): unknown {
  if (!Array.isArray(containers)) return containers;
  return containers.map((container: unknown) => (isObject(container) ? { ...container, image: "" } : container));
}
