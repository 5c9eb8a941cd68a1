import { request } from "node:https";
import type { ApiStatus } from "#api/meta.ts";
import { type ApiServer, serveApi } from "#extension-api/server/https-server.ts";
import { addLogRoutes } from "#extension-api/server/log-routes.ts";
import type { RequestHeaders } from "#extension-api/server/request-header.ts";
import { silentLogger } from "#kube/silent-logger.ts";
import { systemClock } from "#kube/system.ts";
import { type Certificate, makeCertificate } from "#kube/testing/certificates.ts";
import type { LogWorld } from "./log-world.ts";

/** The authority of the aggregation layer, and the certificate that it gave the API server. */
export const frontProxyCa = makeCertificate("front-proxy-ca");
export const frontProxy = makeCertificate("front-proxy-client", frontProxyCa);

export const requestHeaders: RequestHeaders = {
  ca: frontProxyCa.cert,
  allowedNames: ["front-proxy-client"],
  username: ["x-remote-user"],
  group: ["x-remote-group"],
};

export interface Answer {
  readonly code: number;
  readonly headers: NodeJS.Dict<string | string[]>;
  readonly body: string;
  readonly status: () => ApiStatus;
}

/** The service of a world as the API server sees it. */
export class ExtensionServer {
  readonly ending = new AbortController();
  readonly #serving = makeCertificate("localhost");
  #server: ApiServer | undefined;

  async start(world: Pick<LogWorld, "service">, config = requestHeaders): Promise<void> {
    const { service } = world;
    this.#server = await serveApi({
      port: 0,
      pair: this.#serving,
      requestHeaders: config,
      logger: silentLogger,
      onAnswer: () => {},
      routes: (api) =>
        addLogRoutes(api, {
          service,
          clock: systemClock,
          logger: silentLogger,
          ending: this.ending.signal,
          sent: () => {},
        }),
    });
  }

  get server(): ApiServer {
    if (this.#server === undefined) throw new Error("not started");
    return this.#server;
  }

  get url(): string {
    return `https://localhost:${this.server.port}`;
  }

  get ca(): string {
    return this.#serving.cert;
  }

  /** One request on a connection of its own, by default as the API server makes it for a user. */
  ask(
    path: string,
    options: { client?: Certificate | undefined; headers?: Record<string, string>; method?: string } = {},
  ): Promise<Answer> {
    const {
      client = frontProxy,
      headers = { "x-remote-user": "ada" },
      method = "GET",
    } = "client" in options ? { ...options, client: options.client ?? null } : options;
    return new Promise((resolve, reject) => {
      const asked = request(
        `${this.url}${path}`,
        { method, headers, ca: this.ca, agent: false, ...(client && { cert: client.cert, key: client.key }) },
        async (incoming) => {
          let body = "";
          for await (const part of incoming.setEncoding("utf8")) body += part;
          resolve({ code: incoming.statusCode ?? 0, headers: incoming.headers, body, status: () => JSON.parse(body) });
        },
      );
      asked.on("error", reject);
      asked.end();
    });
  }

  async stop(): Promise<void> {
    this.ending.abort();
    await this.#server?.close();
  }
}
