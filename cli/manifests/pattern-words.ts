import { identifierPattern } from "#api/kinds/job.ts";
import { patterns } from "#api/schema.ts";
import type { Scalar } from "./parse.ts";
import { notText, type WrongType } from "./wrong-type.ts";

/** What a text must be, for patterns that several fields share. */
const words: ReadonlyMap<string, string> = new Map([
  [patterns.duration, "Write a duration: 250ms, 90s, 5m, 1h30m."],
  [patterns.subdomain, "Write lower-case letters, digits, - and ., with a letter or digit at both ends."],
  [patterns.label, "Write lower-case letters, digits and -, with a letter or digit at both ends."],
  [patterns.relativePath, "Write a path without leading /, empty parts, . and .."],
  [identifierPattern, "Write letters, digits, - and _, with a letter first and a letter or digit last."],
]);

const mismatch = /^(Invalid value: .*?): \S+ in body should match '(.*)'$/s;

/** Names that Kubernetes checks itself, with the pattern behind the words of its message. */
const badName = /^(Invalid value: .*?): a lowercase RFC 1123 (subdomain|label) must consist of /s;

/** Types as the API server calls them. */
const types: Readonly<Record<string, string>> = {
  string: "a text",
  array: "a list",
  object: "a map",
  integer: "a whole number",
  number: "a number",
  boolean: "true or false",
  null: "nothing",
};

const wrongType = /^Invalid value: "\w+": (\S+) in body must be of type (\w+): "(\w+)"$/;

/** What people write as a single text, and is a list here. */
const lists: Readonly<Record<string, string>> = {
  needs: "Write needs: [JOB].",
  options: "Write options: [VALUE, VALUE].",
  steps: "Write each step behind a dash.",
};

/** What people write as a list or a map, and is a single text here. */
const texts: Readonly<Record<string, string>> = {
  "runs-on": "Write the name of one Runtime.",
  shell: "Write bash, sh, python or node.",
};

function typeInWords(message: string, scalar: Scalar | undefined): WrongType | undefined {
  const [, path = "", wanted = "", found = ""] = wrongType.exec(message) ?? [];
  if (types[wanted] === undefined) return undefined;
  if (wanted === "string" && isQuotable(scalar?.value)) return notText(scalar?.value, scalar?.source);
  const field = path.split(".").at(-1) ?? "";
  const advice = wanted === "array" ? lists[field] : wanted === "string" ? (texts[field] ?? quoted) : undefined;
  const text = `must be ${types[wanted]}, and is ${types[found] ?? found}`;
  return advice === undefined ? { message: text } : { message: text, advice };
}

/** What is a text as soon as quotes stand around it. */
const isQuotable = (value: unknown): boolean => typeof value === "number" || typeof value === "boolean";

const quoted = "Write a text; put quotes around numbers, true and false.";

/**
 * The message of the API server about a text that does not match its pattern, with words for the pattern where there are some.
 *
 * @param scalar what the file has in the field
 */
export function inWords(message: string, scalar?: Scalar): WrongType {
  const type = typeInWords(message, scalar);
  if (type !== undefined) return type;
  const [, what, pattern = ""] = mismatch.exec(message) ?? [];
  const [, whatName, rule] = badName.exec(message) ?? [];
  const advice = words.get(rule === undefined ? pattern : patterns[rule as "subdomain" | "label"]);
  const subject = what ?? whatName;
  return subject === undefined || advice === undefined ? { message } : { message: lowerFirst(subject), advice };
}

const lowerFirst = (text: string) => `${text.charAt(0).toLowerCase()}${text.slice(1)}`;
