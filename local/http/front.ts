import type { ApiStatus, WatchEvent } from "#api/meta.ts";
import type { Clock } from "#kube/ports.ts";
import { type ApiRequest, failure, StatusError, TransportError } from "#kube/transport.ts";
import { methodNotAllowed, noSuchResource } from "#local/apiserver/errors.ts";
import type { ApiServer, Kind, StoredObject, UserInfo } from "#local/apiserver/index.ts";
import { parseRoute, type Route } from "#local/apiserver/routes.ts";
import { type Extension, type Extensions, extensionAt } from "#local/extensions.ts";
import { createOpenApi } from "#local/openapi/documents.ts";
import type { Models } from "#local/openapi/models.ts";
import { wantedForm } from "./accept.ts";
import { readBody } from "./body.ts";
import { documentRoutes, isPublic } from "./documents.ts";
import { checkFields } from "./field-check.ts";
import { gather } from "./gather.ts";
import { type HttpAnswer, type HttpHandler, type HttpRequest, jsonAnswer, statusAnswer } from "./message.ts";
import { representation } from "./representation.ts";

/** Answers `GET .../pods/NAME/log`. */
export type PodLogRoute = (
  pod: StoredObject,
  query: Readonly<Record<string, string>>,
  signal: AbortSignal,
) => Promise<HttpAnswer>;

/** What an HTTP server of the API is made of. */
export interface FrontOptions {
  readonly api: ApiServer;
  readonly clock: Clock;
  /** Of the built-in kinds, for OpenAPI and field validation. */
  readonly models: Models;
  /** Whether the caller may ask anything at all. */
  readonly authorized: (authorization: string | undefined) => boolean;
  /** In whose name every request is made. */
  readonly user: UserInfo;
  readonly podLog?: PodLogRoute;
  /** APIs beside the API server, by the path that they begin with. */
  readonly extensions?: Extensions;
}

/**
 * The API server as HTTP clients know it: media types, tables, discovery, status codes. It turns every failure into a
 * Status.
 *
 * @returns a handler that rejects with TransportError only, where the connection must break without an answer
 */
export function createFront(options: FrontOptions): HttpHandler {
  const { api, clock, models, extensions = {} } = options;
  const documents = documentRoutes(api.registry.all(), createOpenApi(api.registry.all(), models), extensions);

  return async (request) => {
    try {
      return await answer(request);
    } catch (error) {
      if (error instanceof TransportError) throw error;
      if (error instanceof StatusError) return statusAnswer(error.status, error.retryAfterMs);
      return statusAnswer(internal(error));
    }
  };

  async function answer(request: HttpRequest): Promise<HttpAnswer> {
    if (!isPublic(request.path) && !options.authorized(request.headers.authorization)) {
      throw new StatusError(failure(401, "Unauthorized", "Unauthorized"));
    }
    refuseImpersonation(request);
    const extension = extensionAt(extensions, request.path);
    if (extension !== undefined) return beside(extension, request);
    const route = parseRoute(request.path);
    if (route === undefined) return document(request);
    const kind = api.registry.byPlural(route.group, route.version, route.plural);
    if (kind?.resource === "pods" && route.subresource === "log") return podLog(request, route);
    return resource(request, kind);
  }

  async function document(request: HttpRequest): Promise<HttpAnswer> {
    if (request.method !== "GET" && request.method !== "HEAD") throw methodNotAllowed();
    return documents(request);
  }

  async function beside(extension: Extension, request: HttpRequest): Promise<HttpAnswer> {
    const { path, query, signal } = request;
    const { body, contentType } = readRequest(request, undefined);
    const asked = { method: verbMethod(request.method), path, query, signal, contentType };
    if (isTrue(query.follow)) {
      const batches = await extension.lines(asked);
      const headers = { "content-type": "application/x-ndjson" };
      return { code: 200, headers, body: gather(lines(batches, (batch) => `${batch.join("\n")}\n`)) };
    }
    return jsonAnswer(200, await extension.handle({ ...asked, ...(body === undefined ? {} : { body }) }));
  }

  async function resource(request: HttpRequest, kind: Kind | undefined): Promise<HttpAnswer> {
    const { path, query, signal } = request;
    const form = representation(wantedForm(request.headers.accept), kind, query, () => clock.now());
    const base = { method: verbMethod(request.method), path, query, signal };
    if (request.method === "GET" && isTrue(query.watch)) {
      const events = (await api.as(options.user).watch(base)) as AsyncIterable<WatchEvent<StoredObject>>;
      return { code: 200, headers: { "content-type": "application/json" }, body: settledLines(events, form.line) };
    }
    const { body, contentType, warnings } = readRequest(request, kind);
    const asked: ApiRequest = { ...base, contentType, ...(body === undefined ? {} : { body }) };
    const done = await api.execute(asked, options.user);
    await api.settled();
    const texts = [...warnings, ...done.warnings].map((text) => `299 - ${quoted(text)}`);
    return {
      code: done.code,
      headers: { "content-type": form.contentType, ...(texts.length === 0 ? {} : { warning: texts }) },
      body: form.text(done.body),
    };
  }

  function readRequest(request: HttpRequest, kind: Kind | undefined) {
    const { method, headers, query } = request;
    const contentType = (headers["content-type"] ?? "application/json").split(";")[0]?.trim().toLowerCase() ?? "";
    const read = readBody(method, request.body, contentType);
    if (kind === undefined || method === "GET" || method === "DELETE" || hasOwnBody(request.path)) {
      return { body: read.value, contentType, warnings: [] };
    }
    return { contentType, ...checkFields(models, kind, method, read, query.fieldValidation) };
  }

  /** What another process has seen must not be lost with this one. */
  async function* settledLines<T>(events: AsyncIterable<T>, line: (event: T) => string): AsyncIterable<string> {
    for await (const event of events) {
      await api.settled();
      yield line(event);
    }
  }

  async function podLog(request: HttpRequest, { namespace = "", name = "" }: Route): Promise<HttpAnswer> {
    if (request.method !== "GET") throw methodNotAllowed();
    if (options.podLog === undefined) throw noSuchResource("this server keeps no logs of Pods");
    const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(name)}`;
    const pod = await api.execute({ method: "GET", path }, options.user);
    return options.podLog(pod.body as StoredObject, request.query, request.signal);
  }
}

/** Bodies of these subresources are of kinds of their own. */
const hasOwnBody = (path: string): boolean => /\/(scale|binding|eviction)$/.test(path);

const isTrue = (text: string | undefined): boolean => text === "true" || text === "1";

function verbMethod(method: string): ApiRequest["method"] {
  switch (method) {
    case "GET":
    case "POST":
    case "PUT":
    case "PATCH":
    case "DELETE":
      return method;
    default:
      throw methodNotAllowed();
  }
}

/** Acting for others needs to know what they may; saying nothing would act as the caller instead. */
function refuseImpersonation({ headers }: HttpRequest): void {
  const name = Object.keys(headers).find((header) => header.startsWith("impersonate-"));
  if (name === undefined) return;
  const message = `${name}: impersonation is not supported by the local cluster, which knows one user; leave out --as`;
  throw new StatusError(failure(403, "Forbidden", message));
}

/** A warning text as a quoted string of HTTP. */
const quoted = (text: string): string => `"${text.replace(/[\\"]/g, "\\$&").replace(/[^\x20-\x7e]/g, "?")}"`;

async function* lines<T>(events: AsyncIterable<T>, line: (event: T) => string): AsyncIterable<string> {
  for await (const event of events) yield line(event);
}

const internal = (error: unknown): ApiStatus =>
  failure(500, "InternalError", `Internal error occurred: ${error instanceof Error ? error.message : String(error)}`);
