import { LineCounter, parseDocument } from "yaml";
import type { StatusError } from "#kube/transport.ts";
import { badRequest, unsupportedMediaType } from "#local/apiserver/errors.ts";
import { duplicateFields, memberPlaces } from "./duplicates.ts";
import { decodeProtobuf, UnknownMessageError } from "./protobuf/decode.ts";
import { WireError } from "./protobuf/wire.ts";

/** Media types of bodies that are read for every kind. */
const bodyTypes = ["application/json", "application/yaml"];

/** What a body says. */
export interface Body {
  /** Undefined for an empty body. */
  readonly value: unknown;
  /** What is said twice in it, in the words of the API server; the last one counts. */
  readonly duplicates: () => readonly string[];
  /** Where each member stands, twice for one that is there twice; of JSON only. */
  readonly places?: () => ReadonlyMap<string, readonly number[]>;
}

const without = (value: unknown): Body => ({ value, duplicates: () => [] });

/** What an API server says of a field that a body has twice. */
export const duplicateText = (path: string): string => `duplicate field ${JSON.stringify(path)}`;

/**
 * Reads a request body.
 *
 * @param contentType media type without parameters
 * @throws StatusError 400 for text that cannot be read, 415 for another type
 */
export function readBody(method: string, bytes: Buffer, contentType: string): Body {
  if (bytes.length === 0) return without(undefined);
  if (contentType === "application/vnd.kubernetes.protobuf" && method !== "PATCH") return without(readProtobuf(bytes));
  const text = bytes.toString("utf8");
  // Patches are JSON whatever they are called; which of them are taken is the verb's business.
  if (method === "PATCH") return contentType === "application/apply-patch+yaml" ? readYaml(text) : readJson(text);
  switch (contentType) {
    case "application/json":
      return readJson(text);
    case "application/yaml":
      return readYaml(text);
    default:
      throw unsupportedMediaType(bodyTypes);
  }
}

function readJson(text: string): Body {
  try {
    const places = () => memberPlaces(text);
    const value = finite(JSON.parse(text) as unknown, text);
    return { value, duplicates: () => duplicateFields(places()).map(duplicateText), places };
  } catch (error) {
    throw badRequest(`the body is no JSON: ${whyOf(error)}`);
  }
}

function readProtobuf(bytes: Buffer): unknown {
  try {
    return decodeProtobuf(bytes);
  } catch (error) {
    if (error instanceof WireError) throw badRequest(`the body is no protobuf of Kubernetes: ${error.message}`);
    if (!(error instanceof UnknownMessageError)) throw error;
    throw unsupportedMediaType(bodyTypes, `${error.message} is not read as protobuf here`);
  }
}

function readYaml(text: string): Body {
  const lineCounter = new LineCounter();
  const document = parseYaml(text, lineCounter);
  const problem = document.errors.find(({ code }) => code !== "DUPLICATE_KEY");
  if (problem !== undefined) throw noYaml(problem);
  const duplicates = document.errors.map(({ pos }) => {
    const { line } = lineCounter.linePos(pos[0]);
    const key = /^\s*["']?([^"':]+)/.exec(text.slice(pos[0]))?.[1]?.trim() ?? "";
    return `line ${line}: key ${JSON.stringify(key)} already set in map`;
  });
  document.errors = [];
  try {
    return { value: finite(document.toJS(), text), duplicates: () => duplicates };
  } catch (error) {
    throw noYaml(error);
  }
}

function parseYaml(text: string, lineCounter: LineCounter) {
  try {
    return parseDocument(text, { strict: true, uniqueKeys: true, lineCounter });
  } catch (error) {
    throw noYaml(error);
  }
}

/** The library's parser is a recursion, and now and then reports its end as if it were in the text. */
function noYaml(error: unknown): StatusError {
  const why = whyOf(error);
  const isDeep = why.startsWith("Maximum call stack");
  return badRequest(`the body is no YAML: ${isDeep ? "lists and maps are nested too deeply" : why}`);
}

/** How a number is written that is none here: beyond every double, or a word of YAML. */
const maybeInfinite = /\d{300}|e\+?\d{3}|\.(?:inf|nan)\b/i;

/**
 * The value itself.
 *
 * @throws RangeError for a number that JSON cannot say again: it would be stored as null
 */
function finite(value: unknown, text: string): unknown {
  const rest = maybeInfinite.test(text) ? [value] : [];
  for (let one = rest.pop(); one !== undefined; one = rest.pop()) {
    if (typeof one === "number" && !Number.isFinite(one)) throw new RangeError(`the number ${one} is out of range`);
    if (typeof one === "object" && one !== null) for (const member of Object.values(one)) rest.push(member ?? null);
  }
  return value;
}

const whyOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
