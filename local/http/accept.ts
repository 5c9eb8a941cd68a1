import { failure, StatusError } from "#kube/transport.ts";

/** A media type that a client takes. */
export interface MediaRange {
  /** e.g. `application/json`, in lower case. */
  readonly type: string;
  readonly parameters: Readonly<Record<string, string>>;
}

/** The media types of an Accept header, those that are wanted most first. */
export function parseAccept(header: string | undefined): readonly MediaRange[] {
  const text = header === undefined || header.trim() === "" ? "*/*" : header;
  return text
    .split(",")
    .map((part) => {
      const [type = "", ...parameters] = part.split(";").map((piece) => piece.trim());
      const pairs = parameters.map((parameter) => {
        const at = parameter.indexOf("=");
        return at < 0
          ? [parameter.toLowerCase(), ""]
          : [parameter.slice(0, at).toLowerCase(), parameter.slice(at + 1).replace(/^"|"$/g, "")];
      });
      const { q, ...others } = Object.fromEntries(pairs) as Record<string, string>;
      return { type: type.toLowerCase(), parameters: others, weight: q === undefined ? 1 : Number(q) };
    })
    .filter(({ type, weight }) => type !== "" && weight > 0)
    .sort((a, b) => b.weight - a.weight);
}

/** The form in which an answer is wanted. */
export interface Wanted {
  readonly format: "json" | "yaml";
  /** What objects become; themselves where absent. */
  readonly as?: { readonly kind: "Table" | "PartialObjectMetadata"; readonly apiVersion: string };
}

/** The types that objects can be written in. */
export const objectTypes = ["application/json", "application/yaml"];

const formats: Readonly<Record<string, Wanted["format"]>> = {
  "application/json": "json",
  "application/yaml": "yaml",
  "application/*": "json",
  "*/*": "json",
};

const metaVersions = new Set(["v1", "v1beta1"]);

/**
 * Chooses the form of an answer with objects.
 *
 * @throws StatusError 406 when the client takes nothing that there is
 */
export function wantedForm(header: string | undefined): Wanted {
  for (const { type, parameters } of parseAccept(header)) {
    const format = formats[type];
    if (format === undefined) continue;
    const { as, g, v = "" } = parameters;
    if (as === undefined) return { format };
    if (g !== "meta.k8s.io" || !metaVersions.has(v)) continue;
    const apiVersion = `meta.k8s.io/${v}`;
    if (as === "Table") return { format, as: { kind: "Table", apiVersion } };
    // The list is asked for by its own name; which of the two comes depends on the answer.
    if (as === "PartialObjectMetadata" || as === "PartialObjectMetadataList") {
      return { format, as: { kind: "PartialObjectMetadata", apiVersion } };
    }
  }
  throw notAcceptable(objectTypes);
}

/** Nothing that the client takes can be given. */
export function notAcceptable(served: readonly string[]): StatusError {
  const message = `only the following media types are accepted: ${served.join(", ")}`;
  return new StatusError(failure(406, "NotAcceptable", message));
}
