import type { FieldError } from "#api/field-error.ts";
import type { Run } from "#api/kinds/run.ts";
import type { RuntimeSpec } from "#api/kinds/runtime.ts";
import { isListed, listedIn, referencesOf } from "#api/references.ts";
import { unreadable } from "#workflows/artifacts.ts";
import type { Lookups } from "./lookups.ts";

/** What a Run asks for and its Runtime does not have. A Runtime that is not there yet is nobody's fault: its agents look again. */
export async function runtimeErrors(run: Run, namespace: string, lookups: Lookups): Promise<FieldError[]> {
  const asks = referencesOf(run).length > 0 || (run.spec.artifactInputs ?? []).length > 0;
  const runtime = asks ? await lookups.runtime(namespace, run.spec.runtime) : undefined;
  if (runtime === undefined) return [];
  return [...referenceErrors(run, runtime.spec), ...artifactErrors(run, runtime.spec)];
}

/** Secrets and ConfigMaps are for Runs only where the Runtime lists them. */
function referenceErrors(run: Run, runtime: RuntimeSpec): FieldError[] {
  return referencesOf(run)
    .filter((reference) => !isListed(runtime, reference))
    .map((reference) => ({
      path: reference.path,
      message: `Runtime ${run.spec.runtime} does not list ${reference.kind} ${reference.name}`,
      advice: `Add it to spec.${listedIn[reference.kind]} of the Runtime, or use one that is there.`,
      type: "FieldValueForbidden",
    }));
}

/** An agent reads artifacts through the store of its own Runtime. */
function artifactErrors({ spec }: Run, runtime: RuntimeSpec): FieldError[] {
  return (spec.artifactInputs ?? []).flatMap(({ ref }, index) => {
    const problem = unreadable(ref, { name: spec.runtime, spec: runtime });
    if (problem === undefined) return [];
    return [
      {
        path: `spec.artifactInputs[${index}].ref`,
        message: `artifact ${ref.name} cannot be read: ${problem}`,
        advice: "Give the Runtime the artifactStore that the artifact is in.",
        type: "FieldValueInvalid",
      },
    ];
  });
}
