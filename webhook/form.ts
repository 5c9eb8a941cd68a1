import { Ajv, type ValidateFunction } from "ajv";
import { type Kind, kinds } from "#api/crd/kinds.ts";
import { isDeeper } from "#api/json.ts";
import type { Review } from "./review.ts";

const text = { type: "string" };
const texts = { type: "object", additionalProperties: text };

/** What every API server holds metadata to (apimachinery meta/v1); only what is read here. */
const metadata = {
  type: "object",
  properties: {
    name: text,
    generateName: text,
    namespace: text,
    uid: text,
    deletionTimestamp: text,
    generation: { type: "integer" },
    labels: texts,
    annotations: texts,
    finalizers: { type: "array", items: text },
    ownerReferences: {
      type: "array",
      items: {
        type: "object",
        required: ["apiVersion", "kind", "name", "uid"],
        properties: { apiVersion: text, kind: text, name: text, uid: text, controller: { type: "boolean" } },
      },
    },
  },
};

/** What no walk through a value comes to the end of. */
const maxLevels = 1000;

const compiled = new Map<Kind, ValidateFunction>();

/** Compiled when they are needed, which they are not as long as API servers do what they should. */
function validatorOf(kind: Kind): ValidateFunction {
  const validate =
    compiled.get(kind) ??
    new Ajv({ strict: false, validateFormats: false }).compile({
      type: "object",
      required: ["metadata", "spec"],
      properties: { metadata, spec: kinds[kind].spec },
    });
  compiled.set(kind, validate);
  return validate;
}

/**
 * What is wrong with the form of what is to be judged; undefined when it has the form that the API server holds it to before it
 * asks. Rules may take that for granted, so this is asked only when one of them could not go on.
 */
export function formFault({ kind, object, oldObject }: Review): string | undefined {
  for (const [name, value] of Object.entries({ object, oldObject })) {
    if (value === undefined) continue;
    if (isDeeper(value, maxLevels)) return `${name}: more than ${maxLevels} lists and objects stand in each other`;
    const validate = validatorOf(kind);
    if (validate(value)) continue;
    const [error] = validate.errors ?? [];
    return `${name}${error?.instancePath.replaceAll("/", ".")} ${error?.message}: it has not the form of a ${kind}`;
  }
  return undefined;
}
