import { randomBytes, X509Certificate } from "node:crypto";
import type { Server } from "node:https";
import type { TLSSocket } from "node:tls";
import Fastify, { type FastifyError, type FastifyInstance, type FastifyReply } from "fastify";
import type { ApiStatus } from "#api/meta.ts";
import type { Logger } from "#kube/ports.ts";
import type { KeyPair } from "#kube/process/http-server.ts";
import { failure, StatusError } from "#kube/transport.ts";
import { statusErrorOf } from "../logs/errors.ts";
import { type Caller, callerOf, type Peer } from "./identity.ts";
import type { RequestHeaders } from "./request-header.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** Who asks: named by the API server. */
    caller: Caller;
  }
}

export type Api = FastifyInstance<Server>;

export interface ServeApiOptions {
  /** 0 takes a free one. */
  readonly port: number;
  readonly pair: KeyPair;
  readonly requestHeaders: RequestHeaders;
  readonly logger: Logger;
  /** Adds what is served. */
  readonly routes: (api: Api) => void;
  /** Told the code of each answer when it begins. */
  readonly onAnswer: (code: number) => void;
}

export interface ApiServer {
  readonly port: number;
  /** New connections are made with this pair. */
  useKeyPair(pair: KeyPair): void;
  /** From now on connections have to prove this. */
  useRequestHeaders(headers: RequestHeaders): void;
  /** Takes no new connections, lets answers under way be completed, and resolves when all are closed. */
  close(): Promise<void>;
}

/** Idle connections of the API server live 90 s; ours must not go first, in milliseconds. */
const keepAliveMs = 120_000;

/** After so long without a byte the kernel begins to ask whether the other end still lives, in milliseconds. */
const keepAliveProbeMs = 30_000;

/** The HTTPS server behind an APIService: who is not the API server gets a 401, and every failure is a Status. */
export async function serveApi(options: ServeApiOptions): Promise<ApiServer> {
  const { logger } = options;
  let pair = options.pair;
  let config = options.requestHeaders;
  const context = () => ({ ...pair, ca: config.ca, minVersion: "TLSv1.2" as const });
  const api: Api = Fastify({
    logger: false,
    https: {
      ...context(),
      requestCert: true,
      // Refused with a Status, so that people who call the Service by mistake are told why.
      rejectUnauthorized: false,
      keepAlive: true,
      keepAliveInitialDelay: keepAliveProbeMs,
      noDelay: true,
    },
    keepAliveTimeout: keepAliveMs,
    requestTimeout: 30_000,
    exposeHeadRoutes: false,
    forceCloseConnections: "idle",
    return503OnClosing: false,
    routerOptions: { maxParamLength: 512, ignoreTrailingSlash: true },
    frameworkErrors: (error, _request, reply) => sendStatus(reply, frameworkStatus(error)),
  });
  const peers = new WeakMap<object, { readonly config: RequestHeaders; readonly peer: Peer }>();

  function peerOf(socket: TLSSocket): Peer {
    const known = peers.get(socket);
    if (known?.config === config) return known.peer;
    const certificate = socket.getPeerX509Certificate();
    const name = certificate?.toLegacyObject().subject?.CN;
    const peer = {
      // What was verified at the handshake counts only with the authorities of that time.
      trusted:
        socket.authorized && certificate !== undefined && (known === undefined || isSignedBy(certificate, config)),
      name: typeof name === "string" ? name : undefined,
    };
    peers.set(socket, { config, peer });
    return peer;
  }

  api.decorateRequest("caller");
  api.addHook("onRequest", async (request) => {
    request.caller = callerOf(peerOf(request.raw.socket as TLSSocket), request.headers, config);
  });
  // Nothing here has a body: what comes is thrown away.
  api.removeAllContentTypeParsers();
  api.addContentTypeParser("*", (_request, payload, done) => {
    payload.resume();
    payload.on("end", () => done(null));
  });
  api.addHook("onResponse", async (_request, reply) => options.onAnswer(reply.statusCode));
  api.setNotFoundHandler((request) => {
    const path = request.url.split("?")[0];
    throw new StatusError(failure(404, "NotFound", `there is no ${request.method} ${path}`));
  });
  api.setErrorHandler((thrown: unknown, request, reply) => {
    const error = isFastifyError(thrown) ? new StatusError(frameworkStatus(thrown)) : statusErrorOf(thrown);
    if (error.code >= 500 && error.code !== 503) logger.error("a request failed", { path: request.url, error: thrown });
    if (error.retryAfterMs !== undefined) reply.header("retry-after", Math.ceil(error.retryAfterMs / 1000));
    return sendStatus(reply, error.status);
  });
  options.routes(api);

  await api.listen({ port: options.port, host: "::" });
  const { server } = api;
  server.on("secureConnection", (socket) => peerOf(socket));
  const renew = () => {
    server.setSecureContext(context());
    // Sessions of before would be resumed without a look at the certificate.
    server.setTicketKeys(randomBytes(48));
  };
  const address = server.address();
  return {
    port: typeof address === "object" && address !== null ? address.port : options.port,
    useKeyPair(next) {
      pair = next;
      renew();
    },
    useRequestHeaders(next) {
      config = next;
      renew();
    },
    close: () => api.close(),
  };
}

/** Whether one of the authorities has signed the certificate itself; the chain was verified at the handshake. */
function isSignedBy(certificate: X509Certificate, { ca }: RequestHeaders): boolean {
  const authorities = ca.match(/-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g) ?? [];
  return authorities.some((pem) => {
    const authority = new X509Certificate(pem);
    return certificate.checkIssued(authority) && certificate.verify(authority.publicKey);
  });
}

const isFastifyError = (error: unknown): error is FastifyError =>
  error instanceof Error && String((error as Partial<FastifyError>).code).startsWith("FST_");

/** What is wrong with a request before anybody has looked at it, such as a malformed path. */
function frameworkStatus({ statusCode = 400, message }: FastifyError): ApiStatus {
  return failure(statusCode, statusCode === 413 ? "RequestEntityTooLarge" : "BadRequest", message);
}

function sendStatus(reply: FastifyReply, status: ApiStatus): FastifyReply {
  return reply.code(status.code).type("application/json").send(JSON.stringify(status));
}
