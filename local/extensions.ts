import type { ApiHandler } from "#kube/memory.ts";
import type { ApiRequest } from "#kube/transport.ts";

export interface Extension extends ApiHandler {
  /** A stream over HTTP: JSON texts of one line each, in batches. */
  lines(request: ApiRequest): Promise<AsyncIterable<readonly string[]>>;
}

/** APIs that are served beside the API server, by the path that they begin with (what an APIService does in a cluster). */
export type Extensions = Readonly<Record<string, Extension>>;

/** The extension that serves a path; undefined when the API server does. */
export function extensionAt(extensions: Extensions, path: string): Extension | undefined {
  return Object.entries(extensions).find(([root]) => path === root || path.startsWith(`${root}/`))?.[1];
}

/** The API server with its extensions. */
export function withExtensions(api: ApiHandler, extensions: Extensions): ApiHandler {
  const handlerOf = (path: string): ApiHandler => extensionAt(extensions, path) ?? api;
  return {
    handle: (request) => handlerOf(request.path).handle(request),
    watch: (request) => handlerOf(request.path).watch(request),
  };
}
