import type { GateOutput } from "./plan.ts";

export type GateOutputs =
  | { readonly ok: true; readonly outputs: Record<string, string> }
  | { readonly ok: false; readonly message: string };

/**
 * The outputs of a gate that opens: what is supplied, else the defaults. All of them, or what is missing or not expected.
 *
 * @param gate its name, for messages
 */
export function gateOutputs(
  gate: string,
  declared: ReadonlyMap<string, GateOutput>,
  supplied: Readonly<Record<string, string>> = {},
): GateOutputs {
  const names = [...declared.keys()];
  const unknown = Object.keys(supplied).find((name) => !declared.has(name));
  if (unknown !== undefined) {
    const known = names.length === 0 ? "it has none" : `it has ${names.join(", ")}`;
    return { ok: false, message: `gate ${gate} does not expect the output "${unknown}": ${known}` };
  }
  const outputs: Record<string, string> = {};
  for (const [name, { default: fallback, options }] of declared) {
    const value = Object.hasOwn(supplied, name) ? supplied[name] : fallback;
    if (value === undefined) {
      return { ok: false, message: `gate ${gate} needs the output "${name}", which has no default: supply it` };
    }
    if (options !== undefined && !options.includes(value)) {
      return {
        ok: false,
        message: `gate ${gate}: "${value}" is no option of the output "${name}": ${options.join(", ")}`,
      };
    }
    outputs[name] = value;
  }
  return { ok: true, outputs };
}
