import { identifierPattern } from "#api/kinds/job.ts";
import { patterns } from "#api/schema.ts";

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

/** The message of the API server about a text that does not match its pattern, with words for the pattern where there are some. */
export function inWords(message: string): { readonly message: string; readonly advice?: string } {
  const [, what, pattern = ""] = mismatch.exec(message) ?? [];
  const [, whatName, rule] = badName.exec(message) ?? [];
  const advice = words.get(rule === undefined ? pattern : patterns[rule as "subdomain" | "label"]);
  const subject = what ?? whatName;
  return subject === undefined || advice === undefined ? { message } : { message: lowerFirst(subject), advice };
}

const lowerFirst = (text: string) => `${text.charAt(0).toLowerCase()}${text.slice(1)}`;
