import type { Kind } from "../crd/kinds.ts";
import { type FieldError, fieldPath } from "../field-error.ts";
import { jsonEqual } from "../json.ts";
import { objectOf } from "./pod-template.ts";
import { forbidden } from "./rule.ts";

/**
 * Fields of the spec that never change and that the rules in the CRDs do not compare to the end: there, lists keyed by name are equal
 * in any order, and of free maps only the members are compared that both have.
 */
const fields: Partial<Record<Kind, readonly string[]>> = {
  WorkflowRun: ["jobs", "inputs"],
  WorkflowAction: ["retry"],
};

export function checkImmutable(kind: Kind, oldSpec: unknown, spec: unknown): FieldError[] {
  return (fields[kind] ?? [])
    .filter((field) => !jsonEqual(objectOf(oldSpec)[field], objectOf(spec)[field]))
    .map((field) => forbidden(fieldPath("spec", field), `${field} cannot be changed`, `Create a new ${kind} instead.`));
}
