import type { KindEntry } from "../crd/kinds.ts";
import type { FieldError } from "../field-error.ts";
import type { KubeObject } from "../meta.ts";
import { invalid, tooLong } from "./rule.ts";

/** Names become names, labels and directories of other things; a name that is still to be generated is checked by the schema. */
export function checkName({ resource, name: bounds }: KindEntry, object: KubeObject): FieldError[] {
  const { name } = object.metadata;
  if (bounds === undefined || name === undefined || name === "") return [];
  const path = "metadata.name";
  if (name.length > bounds.maxLength) {
    const message = `the name of a ${resource.kind} has at most ${bounds.maxLength} characters, this has ${name.length}`;
    return [tooLong(path, message, `Choose a shorter one: ${bounds.why}.`)];
  }
  if (bounds.pattern === undefined || new RegExp(bounds.pattern).test(name)) return [];
  const message = `"${name}" cannot be the name of a ${resource.kind}`;
  return [invalid(path, message, "Use lower case letters, digits and - only, with a letter or digit at both ends.")];
}
