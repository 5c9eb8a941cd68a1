import { badRequest } from "./errors.ts";

/** What the URL path says, before anybody knows whether such a resource is served. */
export interface Route {
  /** `""` for the core group (`/api/v1`). */
  readonly group: string;
  readonly version: string;
  readonly namespace: string | undefined;
  readonly plural: string;
  readonly name: string | undefined;
  readonly subresource: string | undefined;
}

/** Verbs of the Kubernetes API. */
export type Verb = "create" | "get" | "list" | "watch" | "update" | "patch" | "delete" | "deletecollection";

/** These follow a namespace's name without naming a resource inside it. */
const namespaceSubresources = new Set(["status", "finalize"]);

/**
 * Splits the path of a resource.
 *
 * @returns undefined when the path leads to no resource (`/`, `/version`, `/apis/x`).
 * @throws StatusError 400 for a broken percent-encoding.
 */
export function parseRoute(path: string): Route | undefined {
  const parts = path
    .split("/")
    .filter((part) => part !== "")
    .map(decode);
  const [root] = parts;
  let group: string;
  let version: string | undefined;
  let rest: string[];
  if (root === "api") {
    group = "";
    version = parts[1];
    rest = parts.slice(2);
  } else if (root === "apis") {
    group = parts[1] ?? "";
    version = parts[2];
    rest = parts.slice(3);
  } else {
    return undefined;
  }
  if (version === undefined || rest.length === 0) return undefined;

  let namespace: string | undefined;
  if (rest[0] === "namespaces" && rest.length > 2 && !namespaceSubresources.has(rest[2] ?? "")) {
    namespace = rest[1];
    rest = rest.slice(2);
  }
  const [plural, name, subresource, ...beyond] = rest;
  if (plural === undefined || beyond.length > 0) return undefined;
  return { group, version, namespace, plural, name, subresource };
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw badRequest(`the path segment ${JSON.stringify(part)} is not valid percent-encoding`);
  }
}

/**
 * The verb of a request, as Kubernetes names it.
 *
 * @returns undefined when the method does not go with the path (POST to an object, PUT of a collection).
 */
export function verbOf(method: string, route: Route, watch: boolean): Verb | undefined {
  const named = route.name !== undefined;
  switch (method) {
    case "GET":
      return watch ? "watch" : named ? "get" : "list";
    case "POST":
      // POST to a subresource (pods/x/binding) creates; POST to an object does not exist.
      return !named || route.subresource !== undefined ? "create" : undefined;
    case "PUT":
      return named ? "update" : undefined;
    case "PATCH":
      return named ? "patch" : undefined;
    case "DELETE":
      return named ? "delete" : "deletecollection";
    default:
      return undefined;
  }
}
