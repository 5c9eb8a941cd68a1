import { jsonBytes } from "../json.ts";
import type { Rule } from "./rule.ts";
import { tooLong } from "./rule.ts";

/** Largest spec as JSON, in bytes: spec and status together must fit into one object of etcd (1.5 MiB). */
export const maxSpecBytes = 512 * 1024;

export const specSize: Rule<{ spec: unknown }> = ({ spec }) => {
  const bytes = jsonBytes(spec);
  if (bytes <= maxSpecBytes) return [];
  const message = `the spec has ${bytes} bytes, more than ${maxSpecBytes}`;
  return [tooLong("spec", message, "Keep long texts in a Git repository or in the image of the Runtime.")];
};
