import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { failure } from "#kube/transport.ts";
import { maxBodyBytes } from "#local/apiserver/decode.ts";
import type { Certificate } from "./certificate.ts";
import { type HttpAnswer, type HttpHandler, statusAnswer } from "./message.ts";
import { serveUpgrades, type Upgrades } from "./upgrades.ts";

export interface HttpListener {
  /** `http://127.0.0.1:PORT`, or `https:`. */
  readonly url: string;
  readonly port: number;
  close(): Promise<void>;
}

export interface ListenOptions {
  /** Default: a free one. */
  readonly port?: number;
  /** Serves HTTPS with it. */
  readonly tls?: Certificate;
  /** Takes the connections over that ask for another protocol. */
  readonly upgrades?: Upgrades;
}

/**
 * Serves a handler over HTTP/1.1 on loopback. Loopback and the handler's token are all the protection there is: this is
 * for one user on one machine.
 */
export async function listen(
  handler: HttpHandler,
  { port = 0, tls, upgrades }: ListenOptions = {},
): Promise<HttpListener> {
  const listener: RequestListener = (request, response) => {
    // Nothing is said to a caller whose connection has to break.
    serve(handler, request, response).catch(() => response.destroy());
  };
  const server = tls === undefined ? createServer(listener) : createTlsServer(tls, listener);
  serveUpgrades(server, upgrades);
  // A watch is quiet for as long as nothing changes.
  server.requestTimeout = 0;
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", resolve);
  });
  const taken = portOf(server);
  const scheme = tls === undefined ? "http" : "https";
  return { url: `${scheme}://127.0.0.1:${taken}`, port: taken, close: () => closed(server, upgrades) };
}

function portOf(server: Server): number {
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the listener has no port");
  return address.port;
}

function closed(server: Server, upgrades: Upgrades | undefined): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    upgrades?.close();
    server.closeAllConnections();
  });
}

async function serve(handler: HttpHandler, incoming: IncomingMessage, response: ServerResponse): Promise<void> {
  const gone = new AbortController();
  response.on("close", () => gone.abort());
  const body = await readBody(incoming);
  if (body === undefined) {
    const message = `Request entity too large: limit is ${maxBodyBytes}`;
    return send(statusAnswer(failure(413, "RequestEntityTooLarge", message)), response, gone.signal);
  }
  const url = new URL(incoming.url ?? "/", "http://localhost");
  const answer = await handler({
    method: incoming.method ?? "GET",
    path: url.pathname,
    query: Object.fromEntries(url.searchParams),
    headers: headersOf(incoming),
    body,
    signal: gone.signal,
  });
  await send(answer, response, gone.signal);
}

function headersOf({ headers }: IncomingMessage): Record<string, string | undefined> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, Array.isArray(value) ? value.join(", ") : value]),
  );
}

/** The bytes of a body; undefined when it is larger than the API takes. */
async function readBody(incoming: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of incoming) {
    const bytes = chunk as Buffer;
    size += bytes.length;
    if (size > maxBodyBytes) return undefined;
    chunks.push(bytes);
  }
  return Buffer.concat(chunks);
}

async function send(answer: HttpAnswer, response: ServerResponse, gone: AbortSignal): Promise<void> {
  const { code, headers, body } = answer;
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  if (typeof body === "string") {
    response.writeHead(code);
    response.end(body);
    return;
  }
  response.writeHead(code, { "transfer-encoding": "chunked" });
  response.flushHeaders();
  // A reader that is slow holds the source up, one that leaves ends it.
  for await (const piece of body) {
    if (gone.aborted) break;
    if (!response.write(piece)) await drained(response, gone);
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
