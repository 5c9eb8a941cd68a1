import { parse } from "yaml";
import { badRequest, unsupportedMediaType } from "#local/apiserver/errors.ts";
import { decodeProtobuf, UnknownMessageError } from "./protobuf/decode.ts";
import { WireError } from "./protobuf/wire.ts";

/** Media types of bodies that are read for every kind. */
const bodyTypes = ["application/json", "application/yaml"];

/**
 * Reads a request body.
 *
 * @param contentType media type without parameters
 * @throws StatusError 400 for text that cannot be read, 415 for another type
 */
export function readBody(method: string, bytes: Buffer, contentType: string): unknown {
  if (bytes.length === 0) return undefined;
  if (contentType === "application/vnd.kubernetes.protobuf" && method !== "PATCH") return readProtobuf(bytes);
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

function readJson(text: string): unknown {
  try {
    return JSON.parse(text);
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

function readYaml(text: string): unknown {
  try {
    return parse(text, { strict: true, uniqueKeys: true });
  } catch (error) {
    throw badRequest(`the body is no YAML: ${whyOf(error)}`);
  }
}

const whyOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
