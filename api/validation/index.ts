/**
 * Admission rules that need no other object: what a schema cannot say, and what no code honours yet. Rules about the graph of a
 * workflow and its expressions are not here; their errors have the same shape and are appended by the caller.
 */
import { type Kind, kinds } from "../crd/kinds.ts";
import type { FieldError } from "../field-error.ts";
import { jsonEqual } from "../json.ts";
import type { Run } from "../kinds/run.ts";
import type { Runtime } from "../kinds/runtime.ts";
import type { WorkflowRun } from "../kinds/workflow-run.ts";
import type { KubeObject } from "../meta.ts";
import { newlyUnsupported, unsupported } from "../unsupported.ts";
import { checkImmutable } from "./immutable.ts";
import { checkName } from "./name.ts";
import type { Rule } from "./rule.ts";
import { runAffinity } from "./run-affinity.ts";
import { runDurations } from "./run-durations.ts";
import { runEnvironment } from "./run-environment.ts";
import { runPaths } from "./run-paths.ts";
import { runResources } from "./run-resources.ts";
import { runSource } from "./run-source.ts";
import { runtimeCapacity } from "./runtime-capacity.ts";
import { runtimeContainers } from "./runtime-containers.ts";
import { runtimeDurations } from "./runtime-durations.ts";
import { runtimePod } from "./runtime-pod.ts";
import { runtimeVolumes } from "./runtime-volumes.ts";
import { specDepth, specSize } from "./size.ts";
import { workflowRunDurations } from "./workflow-run-durations.ts";

type WithSpec = KubeObject & { readonly spec: unknown };

const runRules: readonly Rule<Run>[] = [runSource, runEnvironment, runPaths, runResources, runAffinity, runDurations];
const runtimeRules: readonly Rule<Runtime>[] = [
  runtimeContainers,
  runtimePod,
  runtimeVolumes,
  runtimeCapacity,
  runtimeDurations,
];
const workflowRunRules: readonly Rule<WorkflowRun>[] = [workflowRunDurations];

/** The schema has been checked before, so an object of a kind has the type of that kind. */
function kindErrors(kind: Kind, object: WithSpec): readonly FieldError[] {
  switch (kind) {
    case "Run":
      return runRules.flatMap((rule) => rule(object as Run));
    case "Runtime":
      return runtimeRules.flatMap((rule) => rule(object as Runtime));
    case "WorkflowRun":
      return workflowRunRules.flatMap((rule) => rule(object as WorkflowRun));
    case "PersistentWorkspace":
    case "Workflow":
    case "Action":
    case "WorkflowAction":
      return [];
  }
}

function specErrors(kind: Kind, object: WithSpec): FieldError[] {
  return [...specSize(object), ...kindErrors(kind, object)];
}

/** Everything that is wrong with a new object; its schema and the CEL rules of its CRD hold already. */
export function validateCreate(kind: Kind, object: KubeObject): FieldError[] {
  if (!hasSpec(object)) return [];
  const deep = specDepth(object);
  if (deep.length > 0) return [...deep];
  return [...checkName(kinds[kind], object), ...unsupported(kind, object), ...specErrors(kind, object)];
}

/**
 * Everything that a change makes wrong. What was wrong before is not held against it: an object from before a rule existed can still
 * lose its finalizer or be repaired step by step.
 */
export function validateUpdate(kind: Kind, old: KubeObject, object: KubeObject): FieldError[] {
  if (!hasSpec(old) || !hasSpec(object) || jsonEqual(old.spec, object.spec)) return [];
  const deep = specDepth(object);
  if (deep.length > 0) return [...deep];
  const before = specErrors(kind, old);
  return [
    ...checkImmutable(kind, old.spec, object.spec),
    ...newlyUnsupported(kind, old, object),
    ...specErrors(kind, object).filter((error) => !before.some((was) => jsonEqual(was, error))),
  ];
}

function hasSpec(object: KubeObject): object is WithSpec {
  return "spec" in object;
}
