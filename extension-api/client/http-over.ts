import { request } from "node:http";
import type { Duplex } from "node:stream";
import { TransportError } from "#kube/transport.ts";

export interface HttpAnswer {
  readonly code: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: AsyncIterable<Buffer>;
}

/** One GET over a connection that is already there; the connection ends with it. */
export function getOver(
  connection: Duplex,
  path: string,
  headers: Readonly<Record<string, string>>,
  signal?: AbortSignal,
): Promise<HttpAnswer> {
  return new Promise((resolve, reject) => {
    const outgoing = request({
      createConnection: () => connection,
      path,
      headers: { host: "localhost", connection: "close", ...headers },
      ...(signal && { signal }),
    });
    outgoing.on("response", (incoming) => {
      resolve({ code: incoming.statusCode ?? 0, headers: incoming.headers, body: incoming });
    });
    outgoing.on("error", (error) => {
      connection.destroy();
      reject(new TransportError(`GET ${path}: ${error.message}`, { cause: error }));
    });
    outgoing.end();
  });
}
