import { type Dispatcher, Pool } from "undici";
import { type CallLimit, callLimit } from "#kube/call-limit.ts";
import { statusError } from "#kube/http-status.ts";
import { jsonLines } from "#kube/json-lines.ts";
import { type Clock, type Logger, type Random, sleep } from "#kube/ports.ts";
import {
  type ApiRequest,
  type MessageSocket,
  type SocketRequest,
  StatusError,
  type Transport,
  TransportError,
} from "#kube/transport.ts";

export interface TlsMaterial {
  /** PEM of the authorities that are trusted; default those of Node. */
  readonly ca?: string | undefined;
  /** PEM of our certificate and its key. */
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
  /** Name to verify instead of the host of the URL. */
  readonly servername?: string | undefined;
  /** False accepts any server certificate. */
  readonly rejectUnauthorized?: boolean | undefined;
}

/** How we show who we are, at one moment. */
export interface Credentials {
  /** Sent with every request: `authorization`, impersonation. */
  readonly headers: Readonly<Record<string, string>>;
  readonly tls?: TlsMaterial;
}

export interface HttpTransportOptions {
  /** URL of the API server, with a path if it is behind one. */
  readonly server: string;
  /**
   * Reads the credentials that are valid now, from files or a plug-in. Asked at most every `credentialsMs`, and with
   * `renew` after the server refused the last ones.
   */
  readonly credentials: (renew: boolean) => Promise<Credentials>;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** How long credentials are used before they are read again, in milliseconds; default 10,000. */
  readonly credentialsMs?: number;
  /** Connections for ordinary calls; default 16. Streams have one each, leases two of their own. */
  readonly connections?: number;
  /** Largest line of a stream in bytes; default 8 MiB (an object in etcd has at most 1.5 MiB). */
  readonly maxLineBytes?: number;
  /** Largest body of an answer in bytes; default 128 MiB. */
  readonly maxBodyBytes?: number;
  readonly userAgent?: string;
}

/** Sending again after 429 or 503: more would only hide an overload from the back-off of the callers. */
const MAX_RETRIES = 3;
/** Pause after a 429 without Retry-After. */
const DEFAULT_RETRY_AFTER_MS = 1000;
const LEASES = "/apis/coordination.k8s.io/";

interface Pools {
  readonly tls: string;
  readonly calls: Pool;
  readonly streams: Pool;
  /** Of their own, so that a renewal never queues behind a list. */
  readonly leases: Pool;
}

/** The transport to a real API server: HTTP/1.1 with connections that are kept and shared. */
export function httpTransport(options: HttpTransportOptions): Transport {
  const { clock, random, logger } = options;
  const credentialsMs = options.credentialsMs ?? 10_000;
  const userAgent = options.userAgent ?? "kruntimes";
  const maxBodyBytes = options.maxBodyBytes ?? 128 * 1024 * 1024;
  const maxLineBytes = options.maxLineBytes ?? 8 * 1024 * 1024;
  const server = new URL(options.server);
  const basePath = server.pathname.replace(/\/$/, "");

  const closing = new AbortController();
  let pools: Pools | undefined;
  let current: { readonly value: Credentials; readonly readAt: number; readonly renewed: boolean } | undefined;
  let reading: Promise<Credentials> | undefined;

  async function credentials(renew: boolean): Promise<Credentials> {
    const age = current === undefined ? Number.POSITIVE_INFINITY : clock.monotonic() - current.readAt;
    // A renewal may start a program: not more than once in a while, however many calls are refused.
    const fresh = age < credentialsMs && (!renew || current?.renewed === true);
    if (fresh && current !== undefined) return current.value;
    reading ??= options
      .credentials(renew)
      .then((value) => {
        current = { value, readAt: clock.monotonic(), renewed: renew };
        return value;
      })
      .catch((error: unknown) => {
        // Files are replaced while we read them: the old credentials are mostly still good.
        if (current === undefined) throw new TransportError("cannot read the credentials", { cause: error });
        logger.warn("cannot read the credentials; the last ones stay in use", { error });
        return current.value;
      })
      .finally(() => {
        reading = undefined;
      });
    return reading;
  }

  /** The pools for this TLS material. Calls on replaced pools run to their end, then their connections close. */
  function poolsFor(tls: TlsMaterial): Pools {
    const identity = JSON.stringify(tls);
    if (pools?.tls === identity) return pools;
    const old = pools;
    const make = (connections: number | null) =>
      new Pool(server.origin, {
        connections,
        pipelining: 1,
        allowH2: false,
        keepAliveTimeout: 60_000,
        // Deadlines are ours, by the clock that we were given.
        headersTimeout: 0,
        bodyTimeout: 0,
        connect: { ...defined(tls), timeout: 10_000, keepAlive: true, keepAliveInitialDelay: 30_000 },
      });
    pools = { tls: identity, calls: make(options.connections ?? 16), streams: make(null), leases: make(2) };
    if (old !== undefined) {
      logger.info("TLS material changed; new connections use it");
      for (const pool of [old.calls, old.streams, old.leases]) pool.close().catch(() => {});
    }
    return pools;
  }

  async function send(
    request: ApiRequest,
    signal: AbortSignal,
    stream: boolean,
    renew: boolean,
  ): Promise<Dispatcher.ResponseData> {
    const { headers, tls } = await credentials(renew);
    if (signal.aborted) throw signal.reason;
    const { calls, streams, leases } = poolsFor(tls ?? {});
    const pool = stream ? streams : request.path.startsWith(LEASES) ? leases : calls;
    return pool.request({
      method: request.method,
      path: basePath + request.path + queryOf(request),
      headers: {
        accept: request.accept ?? "application/json",
        "user-agent": userAgent,
        ...headers,
        ...(request.body === undefined ? {} : { "content-type": request.contentType ?? "application/json" }),
      },
      body: request.body === undefined ? null : JSON.stringify(request.body),
      signal,
    });
  }

  /** Sends until there is a 2xx answer or an error that sending again cannot help. */
  async function answer(request: ApiRequest, limit: CallLimit, stream: boolean): Promise<Dispatcher.ResponseData> {
    let renew = false;
    let resent = false;
    for (let retries = 0; ; ) {
      let response: Dispatcher.ResponseData;
      try {
        response = await send(request, limit.signal, stream, renew);
      } catch (error) {
        if (limit.signal.aborted) throw error;
        // The server closed a kept connection just as we used it. Reading again does no harm; a write may have happened.
        if (request.method === "GET" && isBrokenSocket(error) && !resent) {
          resent = true;
          continue;
        }
        throw error;
      }
      // Swallows the error of a body that nobody reads any more.
      response.body.on("error", () => {});
      const { statusCode } = response;
      if (statusCode >= 200 && statusCode < 300) return response;

      const header = response.headers["retry-after"];
      const { text } = await readText(response, 1024 * 1024);
      const error = statusError(limit.what, statusCode, text, Array.isArray(header) ? header[0] : header, clock.now());
      if (statusCode === 401 && !renew) {
        renew = true;
        continue;
      }
      const refused = statusCode === 429 || (statusCode === 503 && error.retryAfterMs !== undefined);
      if (!refused || retries++ === MAX_RETRIES) throw error;
      const pauseMs = (error.retryAfterMs ?? DEFAULT_RETRY_AFTER_MS) * (1 + random.next() / 4);
      if (pauseMs >= limit.left()) throw error;
      await sleep(clock, pauseMs, limit.signal);
      if (limit.signal.aborted) throw error;
    }
  }

  async function open<T>(request: ApiRequest, read: (body: AsyncIterable<Buffer>) => AsyncGenerator<T>) {
    const limit = callLimit(request, clock, closing.signal);
    try {
      const { body } = await answer(request, limit, true);
      limit.open();
      return untilStopped(limit, read(body as AsyncIterable<Buffer>));
    } catch (error) {
      limit.release();
      throw asTransportError(limit, error);
    }
  }

  return {
    async request<T>(request: ApiRequest): Promise<T> {
      const limit = callLimit(request, clock, closing.signal);
      try {
        const response = await answer(request, limit, false);
        const { text, bytes } = await readText(response, maxBodyBytes);
        request.onBytes?.(bytes);
        return parseAnswer(request, response, text) as T;
      } catch (error) {
        throw asTransportError(limit, error);
      } finally {
        limit.release();
      }
    },

    stream: <T>(request: ApiRequest) => open(request, (body) => jsonLines<T>(body, maxLineBytes)),

    streamBytes: (request) => open(request, pieces),

    async openSocket(request: SocketRequest): Promise<MessageSocket> {
      const limit = callLimit({ method: "GET", ...request }, clock, closing.signal);
      const open = async (renew: boolean) => {
        const { headers, tls = {} } = await credentials(renew);
        if (limit.signal.aborted) throw limit.signal.reason;
        const url = `${server.origin.replace(/^http/, "ws")}${basePath}${request.path}${queryOf(request)}`;
        const { protocols } = request;
        const { signal, what } = limit;
        const all = { "user-agent": userAgent, ...headers };
        // Loaded by those who use it: most processes of ours never do.
        const { openWebSocket } = await import("#kube/web-socket.ts");
        const now = () => clock.now();
        return openWebSocket({ url, protocols, headers: all, tls, signal, what, now, onClose: () => limit.release() });
      };
      try {
        const socket = await open(false).catch((error: unknown) => {
          if (error instanceof StatusError && error.code === 401) return open(true);
          throw error;
        });
        // From now on only the caller's signal and the end of the transport close it.
        limit.open();
        return socket;
      } catch (error) {
        limit.release();
        throw asTransportError(limit, error);
      }
    },

    async close() {
      closing.abort();
      if (pools === undefined) return;
      await Promise.all([pools.calls, pools.streams, pools.leases].map((pool) => pool.destroy()));
    },
  };
}

async function readText(response: Dispatcher.ResponseData, maxBytes: number): Promise<{ text: string; bytes: number }> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of response.body as AsyncIterable<Buffer>) {
    bytes += part.length;
    if (bytes > maxBytes) throw new TransportError(`the answer is larger than ${maxBytes} bytes`);
    parts.push(part);
  }
  return { text: Buffer.concat(parts).toString("utf8"), bytes };
}

async function* pieces(body: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  yield* body;
}

/** The body as JSON; as text when the caller asked for something else and got text (logs). */
function parseAnswer(request: ApiRequest, response: Dispatcher.ResponseData, text: string): unknown {
  if (text === "") return undefined;
  const type = String(response.headers["content-type"] ?? "");
  if (request.accept !== undefined && type.startsWith("text/")) return text;
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new TransportError(`${request.method} ${request.path}: the answer is no JSON: ${text.slice(0, 80)}`, {
      cause,
    });
  }
}

/** What an open stream brings; ends quietly when the reader, its signal or the transport ends it. */
function untilStopped<T>(limit: CallLimit, lines: AsyncGenerator<T>): AsyncIterableIterator<T> {
  const ended: IteratorResult<T> = { done: true, value: undefined };
  return {
    async next() {
      if (limit.signal.aborted) return ended;
      try {
        const result = await lines.next();
        if (result.done) limit.release();
        return limit.signal.aborted ? ended : result;
      } catch (error) {
        limit.release();
        if (limit.signal.aborted) return ended;
        throw asTransportError(limit, error);
      }
    },
    async return() {
      limit.release();
      limit.abort();
      return ended;
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

function asTransportError(limit: CallLimit, error: unknown): Error {
  if (limit.signal.aborted && limit.signal.reason instanceof TransportError) return limit.signal.reason;
  if (error instanceof StatusError || error instanceof TransportError) return error;
  const message = error instanceof Error ? error.message || error.name : String(error);
  return new TransportError(`${limit.what}: ${message}`, { cause: error });
}

function queryOf(request: Pick<ApiRequest, "query">): string {
  const query = new URLSearchParams(defined(request.query ?? {})).toString();
  return query === "" ? "" : `?${query}`;
}

function defined<T extends object>(members: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]: Exclude<T[K], undefined>;
  };
}

function isBrokenSocket(error: unknown): boolean {
  const { code } = error as { code?: unknown };
  return code === "UND_ERR_SOCKET" || code === "ECONNRESET" || code === "EPIPE";
}
