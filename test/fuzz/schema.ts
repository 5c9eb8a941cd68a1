import { Ajv, type ValidateFunction } from "ajv";
import { type Kind, kinds } from "#api/crd/kinds.ts";

const ajv = new Ajv({ strict: false, validateFormats: false });
const compiled = new Map<Kind, ValidateFunction>();

/** Whether the schema of a kind allows a spec: the API server lets nothing else through. */
export function isValid(kind: Kind, spec: unknown): boolean {
  const validate = compiled.get(kind) ?? ajv.compile(kinds[kind].spec);
  compiled.set(kind, validate);
  return validate(spec);
}
