import { patterns } from "#api/schema.ts";
import type { Template } from "./expressions/compile.ts";
import { type ContextValues, type Evaluated, evaluateTemplate } from "./expressions/evaluate.ts";

const label = new RegExp(patterns.label);

/**
 * The name of the Runtime of a job, or of an instance of its matrix.
 *
 * @param values what `runs-on` may refer to: `matrix`, `strategy`, `needs`, `inputs` and `run`
 */
export function runtimeName(runsOn: Template, values: ContextValues): Evaluated {
  const result = evaluateTemplate(runsOn, values);
  if (!result.ok || (label.test(result.value) && result.value.length <= 63)) return result;
  return { ok: false, message: `"${result.value.slice(0, 80)}" cannot be the name of a Runtime` };
}
