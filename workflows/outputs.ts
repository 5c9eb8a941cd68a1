import type { Template } from "./expressions/compile.ts";
import { type ContextValues, evaluateTemplate } from "./expressions/evaluate.ts";

/** Characters of one output, and of all of them together (as outputs of Runs). */
const maxOutput = 8192;
const maxOutputs = 65_536;

export type OutputsResult =
  | { readonly ok: true; readonly outputs: Record<string, string> }
  | { readonly ok: false; readonly reason: "ExpressionFailed" | "OutputsTooLarge"; readonly message: string };

/** The declared outputs of a job, an Action or a Workflow that did its work: each must have a value. */
export function evaluateOutputs(outputs: ReadonlyMap<string, Template>, values: ContextValues): OutputsResult {
  const members: [string, string][] = [];
  let size = 0;
  for (const [name, template] of outputs) {
    const result = evaluateTemplate(template, values);
    if (!result.ok) return { ok: false, reason: "ExpressionFailed", message: `output "${name}": ${result.message}` };
    size += name.length + result.value.length;
    if (result.value.length > maxOutput || size > maxOutputs) {
      const limit =
        result.value.length > maxOutput ? `more than ${maxOutput}` : `with the others more than ${maxOutputs}`;
      return {
        ok: false,
        reason: "OutputsTooLarge",
        message: `output "${name}" has ${result.value.length} characters, ${limit}`,
      };
    }
    members.push([name, result.value]);
  }
  return { ok: true, outputs: Object.fromEntries(members) };
}

/** Of the declared outputs of a job, an Action or a Workflow that ends without success those that have a value and fit. */
export function knownOutputs(outputs: ReadonlyMap<string, Template>, values: ContextValues): Record<string, string> {
  const members: [string, string][] = [];
  let left = maxOutputs;
  for (const [name, template] of outputs) {
    const result = evaluateTemplate(template, values);
    if (!result.ok || result.value.length > maxOutput) continue;
    const size = name.length + result.value.length;
    if (size > left) continue;
    left -= size;
    members.push([name, result.value]);
  }
  return Object.fromEntries(members);
}
