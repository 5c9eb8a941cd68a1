import type { NameRule } from "./types.ts";

/** Names, labels and annotations: what the API server takes, and its words when it does not. */

const label = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const subdomain = `${label}(\\.${label})*`;
const label1035 = "[a-z]([-a-z0-9]*[a-z0-9])?";
const namePart = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
const labelValue = "(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?";

const compiled = {
  label: new RegExp(`^${label}$`),
  subdomain: new RegExp(`^${subdomain}$`),
  label1035: new RegExp(`^${label1035}$`),
  namePart: new RegExp(`^${namePart}$`),
  labelValue: new RegExp(`^${labelValue}$`),
};

const texts = {
  subdomain: `a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '${subdomain}')`,
  label: `a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '${label}')`,
  label1035: `a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '${label1035}')`,
  namePart: `name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '${namePart}')`,
  labelValue: `a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '${labelValue}')`,
};

const tooLong = (max: number): string => `must be no more than ${max} bytes`;

/** Everything that is wrong with an object's name under a rule; empty when it is fine. */
export function nameProblems(name: string, rule: NameRule): string[] {
  switch (rule) {
    case "subdomain":
      return check(name, 253, compiled.subdomain, texts.subdomain);
    case "label":
      return check(name, 63, compiled.label, texts.label);
    case "label1035":
      return check(name, 63, compiled.label1035, texts.label1035);
    case "path":
      return pathSegmentProblems(name);
    default:
      return rule satisfies never;
  }
}

/** RBAC names may hold anything that fits into one segment of a URL path. */
function pathSegmentProblems(name: string): string[] {
  if (name === "." || name === "..") return [`may not be '${name}'`];
  return ["/", "%"].filter((char) => name.includes(char)).map((char) => `may not contain '${char}'`);
}

function check(text: string, max: number, pattern: RegExp, message: string): string[] {
  const problems: string[] = [];
  if (text.length > max) problems.push(tooLong(max));
  if (!pattern.test(text)) problems.push(message);
  return problems;
}

/** A label key, annotation key or finalizer: `name` or `dns.prefix/name`. */
export function qualifiedNameProblems(text: string): string[] {
  const parts = text.split("/");
  if (parts.length > 2) {
    return [
      `a qualified name ${texts.namePart.slice("name part ".length)} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`,
    ];
  }
  const problems: string[] = [];
  const name = parts[parts.length - 1] ?? "";
  if (parts.length === 2) {
    const prefix = parts[0] ?? "";
    if (prefix === "") problems.push("prefix part must be non-empty");
    else problems.push(...nameProblems(prefix, "subdomain").map((problem) => `prefix part ${problem}`));
  }
  if (name === "") problems.push("name part must be non-empty");
  else if (name.length > 63) problems.push(`name part ${tooLong(63)}`);
  if (!compiled.namePart.test(name)) problems.push(texts.namePart);
  return problems;
}

/** Everything that is wrong with the value of a label; empty when it is fine. */
export function labelValueProblems(value: string): string[] {
  return check(value, 63, compiled.labelValue, texts.labelValue);
}
