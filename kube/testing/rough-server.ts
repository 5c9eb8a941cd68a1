import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from "node:http";
import { createServer as createTlsServer, type ServerOptions } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import { parsePath, TinyApi } from "#kube/testing/tiny-api.ts";
import { type ApiRequest, failure, StatusError } from "#kube/transport.ts";

/** What a server does to one request; `serve` answers it as a good server would. */
export type Behaviour = (context: {
  readonly request: ApiRequest;
  readonly incoming: IncomingMessage;
  readonly response: ServerResponse;
  serve(): Promise<void>;
}) => void | Promise<void>;

/**
 * A real HTTP server in front of a {@link TinyApi} that misbehaves on demand: {@link next} says how the next matching
 * request is treated, the `...Watches` methods treat the watches that are open.
 */
export class RoughServer {
  readonly api = new TinyApi();
  /** TCP connections accepted since the start. */
  connections = 0;
  /** All requests, also those that a behaviour swallowed. */
  readonly received: { readonly request: ApiRequest; readonly incoming: IncomingMessage }[] = [];
  readonly #sockets = new Set<Socket>();
  readonly #watches = new Set<{ response: ServerResponse; silent: boolean }>();
  readonly #behaviours: { matches: (request: ApiRequest) => boolean; act: Behaviour; always: boolean }[] = [];
  readonly #server: ReturnType<typeof createServer>;
  readonly #scheme: string;

  constructor(tls?: ServerOptions) {
    const listener: RequestListener = (incoming, response) => void this.#receive(incoming, response);
    this.#scheme = tls === undefined ? "http" : "https";
    this.#server = tls === undefined ? createServer(listener) : createTlsServer(tls, listener);
    this.#server.on(tls === undefined ? "connection" : "secureConnection", (socket: Socket) => {
      this.connections++;
      this.#sockets.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => this.#sockets.delete(socket));
    });
    // The default of 5 s would make tests depend on real time.
    this.#server.keepAliveTimeout = 60_000;
  }

  async start(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    return this;
  }

  get url(): string {
    return `${this.#scheme}://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  get openSockets(): number {
    return this.#sockets.size;
  }

  get openWatches(): number {
    return this.#watches.size;
  }

  /** Requests so far that were lists, or watches. */
  count(kind: "list" | "watch"): number {
    return this.received.filter(({ request }) => (kind === "list" ? isList : isWatch)(request)).length;
  }

  /** Treats the next request that matches once; with `times`, that many. */
  next(matches: (request: ApiRequest) => boolean, act: Behaviour, times = 1): void {
    for (let i = 0; i < times; i++) this.#behaviours.push({ matches, act, always: false });
  }

  always(matches: (request: ApiRequest) => boolean, act: Behaviour): () => void {
    const entry = { matches, act, always: true };
    this.#behaviours.push(entry);
    return () => this.#behaviours.splice(this.#behaviours.indexOf(entry), 1);
  }

  /** TCP reset. */
  resetWatches(): void {
    for (const { response } of this.#watches) (response.socket as Socket).resetAndDestroy();
  }

  /** The orderly end, as when the server's timeout is over. */
  endWatches(): void {
    for (const { response } of this.#watches) response.end();
  }

  async writeToWatches(text: string): Promise<void> {
    for (const { response } of this.#watches)
      await new Promise<void>((resolve) => response.write(text, () => resolve()));
  }

  /** No bytes any more, no end: what a broken network or a stopped server looks like. */
  silenceWatches(): void {
    for (const watch of this.#watches) watch.silent = true;
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #receive(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const parts: Buffer[] = [];
    for await (const part of incoming as AsyncIterable<Buffer>) parts.push(part);
    const url = new URL(incoming.url ?? "/", "http://server");
    const text = Buffer.concat(parts).toString();
    const request: ApiRequest = {
      method: incoming.method as ApiRequest["method"],
      path: url.pathname,
      query: Object.fromEntries(url.searchParams),
      ...(text === "" ? {} : { body: JSON.parse(text) }),
    };
    this.received.push({ request, incoming });
    const serve = () => (isWatch(request) ? this.#watch(request, response) : this.#answer(request, response));
    const at = this.#behaviours.findIndex(({ matches }) => matches(request));
    const found = this.#behaviours[at];
    if (found === undefined) return serve();
    if (!found.always) this.#behaviours.splice(at, 1);
    await found.act({ request, incoming, response, serve });
  }

  async #answer(request: ApiRequest, response: ServerResponse): Promise<void> {
    try {
      sendJson(response, request.method === "POST" ? 201 : 200, await this.api.handle(request));
    } catch (error) {
      sendError(response, error);
    }
  }

  async #watch(request: ApiRequest, response: ServerResponse): Promise<void> {
    const gone = new AbortController();
    response.on("close", () => gone.abort());
    const watch = { response, silent: false };
    try {
      const events = await this.api.watch({ ...request, signal: gone.signal });
      this.#watches.add(watch);
      response.writeHead(200, { "content-type": "application/json" });
      response.flushHeaders();
      for await (const event of events) {
        if (!watch.silent) response.write(`${JSON.stringify(event)}\n`);
      }
      response.end();
    } catch (error) {
      sendError(response, error);
    } finally {
      this.#watches.delete(watch);
    }
  }
}

export const isWatch = (request: ApiRequest): boolean => request.query?.watch === "true";
export const isList = (request: ApiRequest): boolean =>
  request.method === "GET" && !isWatch(request) && parsePath(request.path).name === undefined;

export function sendJson(response: ServerResponse, code: number, body: unknown, headers = {}): void {
  response.writeHead(code, { "content-type": "application/json", ...headers });
  response.end(JSON.stringify(body));
}

export function sendStatus(response: ServerResponse, code: number, reason: string, headers = {}): void {
  sendJson(response, code, failure(code, reason, `${reason} on purpose`), headers);
}

function sendError(response: ServerResponse, error: unknown): void {
  if (response.headersSent) response.destroy();
  else if (error instanceof StatusError) sendJson(response, error.code, error.status);
  else sendStatus(response, 500, "InternalError");
}
