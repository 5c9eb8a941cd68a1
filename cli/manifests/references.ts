import { suggestion } from "../closest.ts";
import type { Manifest } from "./manifest.ts";
import { entries, member } from "./members.ts";
import type { Problem } from "./problem.ts";

/** A name in one object that another object must have. */
interface Reference {
  readonly kind: string;
  readonly name: unknown;
  /** Where it is written. */
  readonly path: string;
}

/**
 * References to objects that are in none of the files. A temporary cluster holds nothing else, so a Run would wait for them in
 * vain; on a cluster that lives on they may come later, which is why the API server does not refuse them.
 */
export function missingReferences(manifests: readonly Manifest[]): Problem[] {
  return manifests.flatMap((manifest) =>
    referencesOf(manifest).flatMap(({ kind, name, path }) => {
      if (typeof name !== "string" || name === "") return [];
      const { namespace } = manifest.object.metadata;
      const names = namesOf(manifests, kind, namespace);
      if (names.includes(name)) return [];
      const there = names.length === 0 ? `no ${kind} at all` : names.join(", ");
      const where = namespace === "default" ? "" : ` in namespace ${namespace}`;
      const message = `${kind} ${name} is in none of the files${where}`;
      const advice = suggestion(name, names) ?? `They hold ${there}; name the file that has it, too.`;
      return [{ file: manifest.file, ...manifest.at(path), message, advice }];
    }),
  );
}

function namesOf(manifests: readonly Manifest[], kind: string, namespace: string | undefined): string[] {
  return manifests
    .filter(({ resource, object }) => resource.kind === kind && object.metadata.namespace === namespace)
    .map(({ object }) => object.metadata.name);
}

function referencesOf({ resource, object }: Manifest): Reference[] {
  const spec = object.spec;
  switch (resource.kind) {
    case "Run":
      return [
        { kind: "Runtime", name: member(spec, "runtime"), path: "spec.runtime" },
        { kind: "PersistentWorkspace", name: member(spec, "workspace", "name"), path: "spec.workspace.name" },
        {
          kind: "Secret",
          name: member(spec, "source", "credentialsSecretName"),
          path: "spec.source.credentialsSecretName",
        },
        ...ofVariables(spec),
      ];
    case "PersistentWorkspace":
      return [{ kind: "Runtime", name: member(spec, "runtime"), path: "spec.runtime" }];
    case "WorkflowRun":
      return [
        { kind: "Workflow", name: member(spec, "workflowRef", "name"), path: "spec.workflowRef.name" },
        ...ofJobs(spec),
      ];
    case "Workflow":
      return ofJobs(spec);
    case "Runtime":
      return ["artifactStore.filesystem.volumeClaimName", "workspace.persistentVolumeClaim.claimName"].map((path) => ({
        kind: "PersistentVolumeClaim",
        name: member(spec, ...path.split(".")),
        path: `spec.${path}`,
      }));
    default:
      return [];
  }
}

function ofJobs(spec: unknown): Reference[] {
  return entries(member(spec, "jobs")).flatMap(([id, job]) => {
    const steps = member(job, "steps");
    return [
      { kind: "Runtime", name: fixed(member(job, "runs-on")), path: `spec.jobs[${id}].runs-on` },
      { kind: "Workflow", name: member(job, "uses"), path: `spec.jobs[${id}].uses` },
      ...(Array.isArray(steps) ? steps : []).map((step: unknown, index) => ({
        kind: "Action",
        name: member(step, "uses"),
        path: `spec.jobs[${id}].steps[${index}].uses`,
      })),
    ];
  });
}

/** Which Runtime an expression names shows only when the job runs. */
const fixed = (name: unknown) => (typeof name === "string" && name.includes("${{") ? undefined : name);

/** A variable that is optional does without. */
function ofVariables(spec: unknown): Reference[] {
  const env = member(spec, "env");
  if (!Array.isArray(env)) return [];
  return env.flatMap((variable: unknown, index) =>
    (
      [
        ["Secret", "secretKeyRef"],
        ["ConfigMap", "configMapKeyRef"],
      ] as const
    ).flatMap(([kind, field]) => {
      const ref = member(variable, "valueFrom", field);
      const path = `spec.env[${index}].valueFrom.${field}.name`;
      return member(ref, "optional") === true ? [] : [{ kind, name: member(ref, "name"), path }];
    }),
  );
}
