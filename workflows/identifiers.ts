import { identifierPattern } from "#api/kinds/job.ts";
import { namePart } from "#api/names.ts";
import { duplicate, invalid } from "#api/validation/rule.ts";
import type { FieldError } from "./field-error.ts";

const form = "Begin with a letter, go on with letters, digits, - and _, end with a letter or digit; at most 63 in all.";
const identifier = new RegExp(identifierPattern);

/**
 * Checks ids of jobs or names of steps: their form, and that no two are the same in object names and expressions, where case does not
 * count and `_` is `-`.
 *
 * @param what `job` or `step`
 * @param entries each id with the path of its field
 */
export function checkIdentifiers(
  what: "job" | "step",
  entries: Iterable<readonly [id: string, path: string]>,
): FieldError[] {
  const errors: FieldError[] = [];
  const seen = new Map<string, string>();
  for (const [id, path] of entries) {
    if (!identifier.test(id)) {
      errors.push(invalid(path, `"${id}" cannot be the ${what === "job" ? "id of a job" : "name of a step"}`, form));
      continue;
    }
    const key = namePart(id);
    const twin = seen.get(key);
    if (twin === undefined) seen.set(key, id);
    else {
      const message =
        twin === id
          ? `there are two ${what}s named "${id}"`
          : `"${id}" and "${twin}" cannot be told apart: in object names both are "${key}"`;
      const advice = `Give each ${what} a name of its own; upper and lower case and - and _ make no difference.`;
      errors.push(duplicate(path, message, advice));
    }
  }
  return errors;
}
