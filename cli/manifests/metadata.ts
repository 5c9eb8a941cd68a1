import { entries, member } from "./members.ts";
import { nameOfType, notText, type WrongType } from "./wrong-type.ts";

/** What is wrong with a field of the metadata. */
export interface MetadataFault extends WrongType {
  readonly path: string;
}

export const missing: WrongType = { message: "is missing" };

/** A text that is not empty. */
export const isText = (value: unknown): value is string => typeof value === "string" && value !== "";

/** Empty texts count as nothing, as they do for the API server. */
export const isNothing = (value: unknown): boolean => value === undefined || value === null || value === "";

/**
 * The first thing that is wrong with the form of an object's metadata: its names and the values of its labels and annotations are
 * texts, which the API server tells without saying which.
 *
 * @param written how the file spells the value of a path
 */
export function metadataFault(
  metadata: unknown,
  written: (path: string) => string | undefined,
): MetadataFault | undefined {
  const noMap = (path: string, value: unknown): MetadataFault | undefined =>
    isNothing(value) || (typeof value === "object" && !Array.isArray(value))
      ? undefined
      : { path, message: `must be a map, and is ${nameOfType(value)}` };
  const wrong = noMap("metadata", metadata);
  if (wrong !== undefined) return { ...wrong, advice: "Write name below it." };
  const noText = (path: string, value: unknown): MetadataFault | undefined =>
    typeof value === "string" || isNothing(value) ? undefined : { path, ...notText(value, written(path)) };
  for (const key of ["name", "generateName", "namespace"]) {
    const fault = noText(`metadata.${key}`, member(metadata, key));
    if (fault !== undefined) return fault;
  }
  if (!["name", "generateName"].some((key) => isText(member(metadata, key)))) {
    return { path: "metadata.name", ...missing, advice: "Give the object a name." };
  }
  for (const key of ["labels", "annotations"]) {
    const map = member(metadata, key);
    const fault = noMap(`metadata.${key}`, map);
    if (fault !== undefined) return fault;
    for (const [name, value] of entries(map)) {
      const wrongValue = noText(`metadata.${key}[${name}]`, value);
      if (wrongValue !== undefined) return wrongValue;
    }
  }
  return undefined;
}
