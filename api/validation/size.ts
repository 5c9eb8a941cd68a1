import { isDeeper, jsonBytes } from "../json.ts";
import type { Rule } from "./rule.ts";
import { tooLong } from "./rule.ts";

/** Largest spec as JSON, in bytes: spec and status together must fit into one object of etcd (1.5 MiB). */
export const maxSpecBytes = 512 * 1024;

/**
 * Most lists and objects in each other in a spec. Nobody writes so many; an API server lets 10,000 through, which would end the stack
 * of whatever walks through them.
 */
export const maxSpecDepth = 100;

/** Goes before all other rules, which walk through the spec. */
export const specDepth: Rule<{ spec: unknown }> = ({ spec }) => {
  if (!isDeeper(spec, maxSpecDepth)) return [];
  const message = `more than ${maxSpecDepth} lists and objects stand in each other`;
  return [tooLong("spec", message, "Keep such a value as a text of JSON.")];
};

export const specSize: Rule<{ spec: unknown }> = ({ spec }) => {
  const bytes = jsonBytes(spec);
  if (bytes <= maxSpecBytes) return [];
  const message = `the spec has ${bytes} bytes, more than ${maxSpecBytes}`;
  return [tooLong("spec", message, "Keep long texts in a Git repository or in the image of the Runtime.")];
};
