import type { KubeObject } from "#api/meta.ts";
import type { ResourceType } from "#kube/resource.ts";
import { findKind } from "./kinds.ts";
import { member } from "./members.ts";
import { isNothing, isText, metadataFault, missing } from "./metadata.ts";
import type { ParsedDocument, Scalar } from "./parse.ts";
import type { Position, Problem } from "./problem.ts";
import { notText } from "./wrong-type.ts";

/** An object that a file holds, of a kind that we know, with a name. Nothing else of it has been judged. */
export interface Manifest {
  readonly file: string;
  readonly resource: ResourceType<KubeObject>;
  /** With its namespace, where the kind has one. */
  readonly object: KubeObject & { readonly [field: string]: unknown };
  at(path: string, inText?: Position): Position;
  scalar(path: string): Scalar | undefined;
  /** A line of the file, from 1. */
  line(number: number): string;
}

/** `Workflow ci`, or `Run job-*` where the server makes up the name. */
export function nameOf({ resource, object }: Pick<Manifest, "resource" | "object">): string {
  const { name, generateName } = object.metadata;
  return `${resource.kind} ${name || `${generateName}*`}`;
}

/**
 * Reads a document as an object.
 *
 * @param namespace given on the command line
 * @param fallback namespace of objects that name none
 */
export function toManifest(
  document: ParsedDocument,
  namespace: string | undefined,
  fallback = "default",
): Manifest | Problem {
  const { file, value, at, scalar, line } = document;
  const problem = (path: string, message: string, advice?: string): Problem => ({ file, ...at(path), message, advice });
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return problem("", "this document is no object", "Write apiVersion, kind, metadata and spec.");
  }
  const apiVersion = member(value, "apiVersion");
  const kind = member(value, "kind");
  if (!isText(kind)) {
    const { message } = isNothing(kind) ? missing : notText(kind, scalar("kind")?.source);
    return problem("kind", `kind ${message}`, "Write what the object is, e.g. kind: Workflow.");
  }
  if (!isText(apiVersion)) {
    const { message } = isNothing(apiVersion) ? missing : notText(apiVersion, scalar("apiVersion")?.source);
    return problem("apiVersion", `apiVersion ${message}`, "Write e.g. apiVersion: kruntimes.io/v1alpha1.");
  }
  const resource = findKind(apiVersion, kind);
  if ("message" in resource) return problem(resource.field, resource.message, resource.advice);

  const metadata = member(value, "metadata");
  const fault = metadataFault(metadata, (path) => scalar(path)?.source);
  if (fault !== undefined) return problem(fault.path, `${kind}: ${fault.path} ${fault.message}`, fault.advice);
  if (!resource.namespaced) return { file, resource, object: value as Manifest["object"], at, scalar, line };

  const own = member(metadata, "namespace");
  if (isText(own) && namespace !== undefined && own !== namespace) {
    const advice = "Leave out one of the two.";
    return problem("metadata.namespace", `namespace ${own} is not ${namespace}, which --namespace says`, advice);
  }
  const place = isText(own) ? own : (namespace ?? fallback);
  const object = { ...value, metadata: { ...(metadata as object), namespace: place } };
  return { file, resource, object: object as unknown as Manifest["object"], at, scalar, line };
}

/** Objects that stand twice. */
export function duplicates(manifests: readonly Manifest[]): Problem[] {
  const first = new Map<string, Manifest>();
  const problems: Problem[] = [];
  for (const manifest of manifests) {
    const { resource, object, file, at } = manifest;
    const { name, namespace } = object.metadata;
    if (!name) continue;
    const key = JSON.stringify([resource.group, resource.kind, namespace, name]);
    const other = first.get(key);
    if (other === undefined) {
      first.set(key, manifest);
      continue;
    }
    const message = `${resource.kind} ${name} was defined before, at ${other.file}:${other.at("metadata.name").line}`;
    problems.push({ file, ...at("metadata.name"), message, advice: "Rename or remove one of them." });
  }
  return problems;
}
