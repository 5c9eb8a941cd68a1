import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createTlsServer, type Server as TlsServer } from "node:https";
import type { SecureContextOptions } from "node:tls";
import type { Logger } from "#kube/ports.ts";

export interface HttpRequest {
  /** Without the query. */
  readonly path: string;
  /** UTF-8; empty for GET. */
  readonly body: string;
  /** Aborted when the client is gone. */
  readonly signal: AbortSignal;
}

export interface HttpAnswer {
  readonly status: number;
  /** Default `text/plain; charset=utf-8`. */
  readonly type?: string;
  readonly body: string;
}

/** `GET /path` or `POST /path` to what answers it. */
export type Routes = Readonly<Record<string, (request: HttpRequest) => HttpAnswer | Promise<HttpAnswer>>>;

export interface KeyPair {
  /** PEM. */
  readonly cert: string;
  readonly key: string;
  /**
   * PEM of the authority of the callers' certificates. With one, nobody without such a certificate is answered; whether callers need
   * one is settled when serving begins.
   */
  readonly clientCa?: string;
}

export interface ServeOptions {
  readonly routes: Routes;
  readonly logger: Logger;
  /** 0 takes a free one. */
  readonly port: number;
  /** Default: all addresses of the Pod. */
  readonly host?: string;
  /** Serves HTTPS. */
  readonly tls?: KeyPair;
  /** Largest body of a request in bytes; default 0, no body. */
  readonly maxBodyBytes?: number;
}

export interface HttpServer {
  readonly port: number;
  /** New connections are made with this pair; those that are open keep theirs. */
  useKeyPair(pair: KeyPair): void;
  /** Takes no new connections, lets answers under way be completed, and resolves when all are closed. */
  close(): Promise<void>;
}

class TooLarge extends Error {}

/** A small HTTP server for probes, metrics and admission reviews: exact paths, whole bodies. */
export async function serveHttp(options: ServeOptions): Promise<HttpServer> {
  const { routes, logger, tls } = options;
  const listener = (request: IncomingMessage, response: ServerResponse) => {
    answer(request, response).catch((error: unknown) => {
      if (error instanceof TooLarge) send(response, { status: 413, body: `${error.message}\n` });
      else if (!response.destroyed) {
        logger.error("a request could not be answered", { path: request.url, error });
        send(response, { status: 500, body: "internal error; the log of the component has it\n" });
      }
    });
  };
  const secure = tls === undefined ? undefined : createTlsServer({ ...contextOf(tls), ...demandOf(tls) }, listener);
  secure?.on("tlsClientError", (error) => {
    if (tls?.clientCa !== undefined)
      logger.info("a caller was turned away in the TLS handshake", { error: error.message });
  });
  const server: Server | TlsServer = secure ?? createServer(listener);
  // A slow or silent client must not hold a connection for ever.
  server.headersTimeout = 10_000;
  server.requestTimeout = 30_000;

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = (request.url ?? "/").split("?")[0] ?? "/";
    const route = routes[`${request.method} ${path}`];
    if (route === undefined) {
      request.resume();
      return send(response, { status: 404, body: `not found; there are ${Object.keys(routes).join(", ")}\n` });
    }
    const gone = new AbortController();
    response.on("close", () => gone.abort());
    const body = await readBody(request, options.maxBodyBytes ?? 0);
    send(response, await route({ path, body, signal: gone.signal }));
  }

  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(options.port, options.host, resolve);
  });
  server.on("error", (error) => logger.error("the HTTP server failed", { error }));
  const address = server.address();
  return {
    port: typeof address === "object" && address !== null ? address.port : options.port,
    useKeyPair: (pair) => secure?.setSecureContext(contextOf(pair)),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeIdleConnections();
      }),
  };
}

const contextOf = ({ cert, key, clientCa }: KeyPair): SecureContextOptions => ({
  cert,
  key,
  ...(clientCa === undefined ? {} : { ca: clientCa }),
  minVersion: "TLSv1.2",
});

const demandOf = ({ clientCa }: KeyPair) =>
  clientCa === undefined ? {} : { requestCert: true, rejectUnauthorized: true };

async function readBody(request: IncomingMessage, maxBytes: number): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > maxBytes) throw new TooLarge(`the request is larger than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function send(response: ServerResponse, { status, type, body }: HttpAnswer): void {
  if (response.headersSent || response.destroyed) return;
  response.writeHead(status, {
    "content-type": type ?? "text/plain; charset=utf-8",
    "content-length": Buffer.byteLength(body),
    // What was not read to its end cannot be followed by another request.
    ...(status === 413 ? { connection: "close" } : {}),
  });
  response.end(body);
}
