import type { ApiHandler } from "#kube/memory.ts";
import { type ApiRequest, StatusError } from "#kube/transport.ts";
import { readBody } from "./body.ts";
import type { HttpAnswer, HttpHandler, HttpRequest } from "./message.ts";

/** A request and what it was answered with; nothing of who asked. */
export interface Exchange {
  readonly request: {
    readonly method: string;
    readonly path: string;
    readonly query: Readonly<Record<string, string>>;
    readonly accept?: string;
    /** Of a request with a body; protobuf bodies are shown as the JSON that says the same. */
    readonly contentType?: string;
    readonly body?: unknown;
  };
  readonly answer: {
    readonly code: number;
    readonly contentType?: string;
    readonly warnings?: readonly string[];
    /** Of a stream it is absent: what comes there is told by what happens meanwhile. */
    readonly body?: unknown;
  };
}

/** Is told of every exchange when its answer is known. */
export type OnExchange = (exchange: Exchange) => void;

/** The same handler, with somebody who listens. */
export function recordHttp(handler: HttpHandler, onExchange: OnExchange): HttpHandler {
  return async (request) => {
    const answer = await handler(request);
    onExchange({ request: httpRequest(request), answer: httpAnswer(answer) });
    return answer;
  };
}

/** The same API inside this process, with somebody who listens. */
export function recordApi(api: ApiHandler, onExchange: OnExchange): ApiHandler {
  const told = (request: ApiRequest, answer: Exchange["answer"]) =>
    onExchange({ request: apiRequest(request), answer });
  const failed = (request: ApiRequest, error: unknown): never => {
    if (error instanceof StatusError) told(request, { code: error.code, body: error.status });
    throw error;
  };
  return {
    async handle(request) {
      try {
        const body = await api.handle(request);
        told(request, { code: request.method === "POST" ? 201 : 200, body });
        return body;
      } catch (error) {
        return failed(request, error);
      }
    },
    async watch(request) {
      try {
        const events = await api.watch(request);
        told(request, { code: 200 });
        return events;
      } catch (error) {
        return failed(request, error);
      }
    },
  };
}

function httpRequest({ method, path, query, headers, body }: HttpRequest): Exchange["request"] {
  const contentType = headers["content-type"]?.split(";")[0]?.trim();
  return {
    method,
    path,
    query,
    ...(headers.accept === undefined ? {} : { accept: headers.accept }),
    ...(body.length === 0 ? {} : { contentType: contentType ?? "application/json" }),
    ...(body.length === 0 ? {} : { body: bodyOf(method, body, contentType ?? "application/json") }),
  };
}

/** A body that cannot be read is shown as it came. */
function bodyOf(method: string, body: Buffer, contentType: string): unknown {
  try {
    return readBody(method, body, contentType).value;
  } catch {
    return body.toString("utf8");
  }
}

function httpAnswer({ code, headers, body }: HttpAnswer): Exchange["answer"] {
  const { "content-type": contentType, warning } = headers;
  return {
    code,
    ...(typeof contentType === "string" ? { contentType } : {}),
    ...(Array.isArray(warning) ? { warnings: warning as string[] } : {}),
    ...(typeof body !== "string" ? {} : { body: contentType === "application/json" ? JSON.parse(body) : body }),
  };
}

function apiRequest({ method, path, query = {}, body, contentType, accept }: ApiRequest): Exchange["request"] {
  const given = Object.entries(query).filter((pair): pair is [string, string] => pair[1] !== undefined);
  return {
    method,
    path,
    query: Object.fromEntries(given),
    ...(accept === undefined ? {} : { accept }),
    ...(body === undefined ? {} : { contentType: contentType ?? "application/json", body }),
  };
}
