/**
 * What the API already has room for, but no code honours yet, and what people write out of habit from elsewhere. It is refused at
 * creation, so that nothing is accepted and then ignored. An entry goes away with the change that honours the field.
 */
import type { Kind } from "./crd/kinds.ts";
import { type FieldError, fieldPath, type PathSegment } from "./field-error.ts";
import { jsonEqual } from "./json.ts";
import type { KubeObject } from "./meta.ts";
import type { Unsupported } from "./unsupported/entry.ts";
import { runEntries } from "./unsupported/run.ts";
import { runtimeEntries } from "./unsupported/runtime.ts";
import { actionEntries, workflowEntries, workflowRunEntries } from "./unsupported/workflow.ts";

export type { Unsupported } from "./unsupported/entry.ts";

/** The table. */
export const unsupportedEntries: readonly Unsupported[] = [
  ...runEntries,
  ...runtimeEntries,
  ...workflowEntries,
  ...workflowRunEntries,
  ...actionEntries,
];

/** Everything in the object that no code honours, with the path of each field. */
export function unsupported(kind: Kind, object: KubeObject): FieldError[] {
  return unsupportedEntries
    .filter((entry) => entry.kind === kind)
    .flatMap((entry) => found(entry, object).map(({ path }) => toFieldError(entry, path)));
}

/** The same for a change: what stood there before with the same value is left alone, so that old objects stay editable. */
export function newlyUnsupported(kind: Kind, old: KubeObject, object: KubeObject): FieldError[] {
  return unsupportedEntries
    .filter((entry) => entry.kind === kind)
    .flatMap((entry) => {
      const before = found(entry, old);
      return found(entry, object)
        .filter(({ path, value }) => !before.some((was) => jsonEqual(was.path, path) && jsonEqual(was.value, value)))
        .map(({ path }) => toFieldError(entry, path));
    });
}

interface Found {
  readonly path: readonly PathSegment[];
  readonly value: unknown;
}

/** The places that the pattern of an entry matches and where its condition holds. */
function found(entry: Unsupported, object: KubeObject): Found[] {
  let places: Found[] = [{ path: [], value: object }];
  for (const segment of entry.path.split(".")) places = places.flatMap((place) => step(place, segment));
  return places.filter(({ value }) => value !== undefined && (entry.when?.(value) ?? true));
}

function step({ path, value }: Found, segment: string): Found[] {
  if (typeof value !== "object" || value === null) return [];
  if (segment === "*") {
    const members: [PathSegment, unknown][] = Array.isArray(value) ? [...value.entries()] : Object.entries(value);
    return members.map(([name, member]) => ({ path: [...path, name], value: member }));
  }
  if (!Object.hasOwn(value, segment)) return [];
  return [{ path: [...path, segment], value: (value as Record<string, unknown>)[segment] }];
}

function toFieldError(entry: Unsupported, path: readonly PathSegment[]): FieldError {
  return { path: fieldPath(...path), message: entry.message, advice: entry.advice, type: "FieldValueNotSupported" };
}
