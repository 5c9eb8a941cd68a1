import type { FieldError } from "../field-error.ts";
import type { Runtime } from "../kinds/runtime.ts";
import { group } from "../labels.ts";
import { listOf, objectOf } from "./pod-template.ts";
import { forbidden, type Rule } from "./rule.ts";

/** Fields of the Pod spec that may not have such a value: the value, why, and what to do. */
const refused: readonly {
  readonly field: string;
  readonly when: (value: unknown) => boolean;
  readonly message: string;
  readonly advice: string;
}[] = [
  {
    field: "shareProcessNamespace",
    when: (value) => value === true,
    message: "programs would see the agent and its token through /proc",
    advice: "Leave it out.",
  },
  ...["hostPID", "hostIPC", "hostNetwork"].map((field) => ({
    field,
    when: (value: unknown) => value === true,
    message: "programs would share a namespace with the node",
    advice: "Leave it out.",
  })),
  {
    field: "restartPolicy",
    when: (value) => value !== "Always",
    message: "Pods of a pool are restarted always",
    advice: "Leave it out.",
  },
  {
    field: "ephemeralContainers",
    when: (value) => listOf(value).length > 0,
    message: "a template has no ephemeral containers",
    advice: "Use `kubectl debug` on a Pod.",
  },
  {
    field: "automountServiceAccountToken",
    when: (value) => value === true,
    message: "programs hold no identity of the platform",
    advice: "Give the container runtime the credentials that programs need in env or in a volume.",
  },
  ...["serviceAccountName", "serviceAccount"].map((field) => ({
    field,
    when: (value: unknown) => value !== undefined && value !== "",
    message: "the agent has a ServiceAccount of its own, and programs have none",
    advice: "Give the container runtime the credentials that programs need in env or in a volume.",
  })),
  {
    field: "terminationGracePeriodSeconds",
    when: (value) => value !== undefined,
    message: "the grace period follows from the drain timeout",
    advice: "Set spec.drain.timeout.",
  },
];

/** What would break the boundary between programs and the platform, or would be overwritten. */
export const runtimePod: Rule<Runtime> = ({ spec }) => [
  ...refused.flatMap(({ field, when, message, advice }) => {
    const value = objectOf(spec.template.spec)[field];
    return value !== undefined && when(value) ? [forbidden(`spec.template.spec.${field}`, message, advice)] : [];
  }),
  ...(["labels", "annotations"] as const).flatMap((field) => ourKeys(field, spec.template.metadata)),
];

function ourKeys(field: string, metadata: Readonly<Record<string, unknown>> | undefined): FieldError[] {
  return Object.keys(objectOf(metadata?.[field])).flatMap((key) => {
    const domain = key.split("/")[0] ?? "";
    if (!key.includes("/") || (domain !== group && !domain.endsWith(`.${group}`))) return [];
    const path = `spec.template.metadata.${field}[${key}]`;
    return [forbidden(path, `keys of ${group} are set by the platform`, "Use a domain of your own.")];
  });
}
