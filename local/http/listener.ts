import { createHash, timingSafeEqual } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { ApiStatus } from "#api/meta.ts";
import type { ApiHandler } from "#kube/memory.ts";
import { type ApiRequest, failure, StatusError, TransportError } from "#kube/transport.ts";

/** Largest request body, as of a real API server (3 MiB). */
const maxBodyBytes = 3 * 1024 * 1024;

export interface HttpListener {
  /** `http://127.0.0.1:PORT`. */
  readonly url: string;
  close(): Promise<void>;
}

/**
 * Serves an API server over HTTP/1.1 on loopback, for those who hold the token. Loopback and a token are all the
 * protection there is: this is for one user on one machine.
 *
 * @param port 0 takes a free one
 */
export async function listen(
  api: ApiHandler,
  options: { readonly token: string; readonly port?: number },
): Promise<HttpListener> {
  const server = createServer((request, response) => {
    answer(api, options.token, request, response).catch((error: unknown) => {
      if (response.headersSent) response.destroy();
      else sendFailure(response, error);
    });
  });
  // A watch is quiet for as long as nothing changes.
  server.requestTimeout = 0;
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(options.port ?? 0, "127.0.0.1", resolve);
  });
  return { url: `http://127.0.0.1:${portOf(server)}`, close: () => closed(server) };
}

function portOf(server: Server): number {
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the listener has no port");
  return address.port;
}

function closed(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}

async function answer(
  api: ApiHandler,
  token: string,
  incoming: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  if (!authorized(incoming, token)) throw new StatusError(failure(401, "Unauthorized", "Unauthorized"));
  const gone = new AbortController();
  response.on("close", () => gone.abort());
  const request = await readRequest(incoming, gone.signal);
  if (request.query?.watch === "true" || request.query?.watch === "1" || request.query?.follow === "true") {
    await stream(await api.watch(request), response, gone.signal);
    return;
  }
  const body = JSON.stringify(await api.handle(request));
  response.writeHead(request.method === "POST" ? 201 : 200, { "content-type": "application/json" });
  response.end(body);
}

/** Compares digests, so that the time taken says nothing about the token. */
function authorized(incoming: IncomingMessage, token: string): boolean {
  const digest = (text: string) => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(incoming.headers.authorization ?? ""), digest(`Bearer ${token}`));
}

async function readRequest(incoming: IncomingMessage, signal: AbortSignal): Promise<ApiRequest> {
  const url = new URL(incoming.url ?? "/", "http://localhost");
  const method = incoming.method ?? "GET";
  if (!isVerb(method)) throw new StatusError(failure(405, "MethodNotAllowed", `${method} is not supported`));
  const text = await readBody(incoming);
  const contentType = (incoming.headers["content-type"] ?? "application/json").split(";")[0]?.trim();
  return {
    method,
    path: url.pathname,
    query: Object.fromEntries(url.searchParams),
    signal,
    ...(text === "" ? {} : { body: parse(text), contentType: contentType ?? "application/json" }),
    ...(incoming.headers.accept === undefined ? {} : { accept: incoming.headers.accept }),
  };
}

const isVerb = (method: string): method is ApiRequest["method"] =>
  method === "GET" || method === "POST" || method === "PUT" || method === "PATCH" || method === "DELETE";

async function readBody(incoming: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of incoming) {
    const bytes = chunk as Buffer;
    size += bytes.length;
    if (size > maxBodyBytes) {
      const message = `the request is larger than ${maxBodyBytes} bytes`;
      throw new StatusError(failure(413, "RequestEntityTooLarge", message));
    }
    chunks.push(bytes);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new StatusError(failure(400, "BadRequest", `the body is no JSON: ${why}`));
  }
}

/** One JSON line for each event; a reader that is slow holds the source up, one that leaves ends it. */
async function stream(source: AsyncIterable<unknown>, response: ServerResponse, gone: AbortSignal): Promise<void> {
  response.writeHead(200, { "content-type": "application/json", "transfer-encoding": "chunked" });
  response.flushHeaders();
  for await (const event of source) {
    if (gone.aborted) break;
    if (!response.write(`${JSON.stringify(event)}\n`)) await drained(response, gone);
  }
  response.end();
}

function drained(response: ServerResponse, gone: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      response.off("drain", done);
      gone.removeEventListener("abort", done);
      resolve();
    };
    response.once("drain", done);
    gone.addEventListener("abort", done, { once: true });
  });
}

function sendFailure(response: ServerResponse, error: unknown): void {
  if (error instanceof TransportError) {
    // A lost connection, injected by a test: the caller must not learn what became of its request.
    response.destroy();
    return;
  }
  const status = error instanceof StatusError ? error.status : internal(error);
  const retryAfter = error instanceof StatusError ? error.retryAfterMs : undefined;
  response.writeHead(status.code, {
    "content-type": "application/json",
    ...(retryAfter === undefined ? {} : { "retry-after": String(Math.ceil(retryAfter / 1000)) }),
  });
  response.end(JSON.stringify(status));
}

const internal = (error: unknown): ApiStatus =>
  failure(500, "InternalError", error instanceof Error ? error.message : String(error));
