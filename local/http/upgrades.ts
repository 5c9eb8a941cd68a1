import { type IncomingMessage, type Server, STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import { failure, StatusError } from "#kube/transport.ts";
import { statusAnswer } from "./message.ts";

/** A request to change the protocol, as of a WebSocket. */
export interface Upgrade {
  readonly path: string;
  readonly query: URLSearchParams;
  readonly incoming: IncomingMessage;
  /** What was read beyond the request. */
  readonly head: Buffer;
}

/** Takes over the connections whose protocol is changed. */
export interface Upgrades {
  /** @throws StatusError before anything is written to the socket: it is answered with it */
  upgrade(request: Upgrade, socket: Duplex): Promise<void>;
  /** Ends all of them. */
  close(): void;
}

/** Hands the upgrades of a server on. Without `upgrades` the server answers such requests as if they asked for none. */
export function serveUpgrades(server: Server, upgrades: Upgrades | undefined): void {
  if (upgrades === undefined) return;
  server.on("upgrade", (incoming, socket, head) => {
    socket.on("error", () => socket.destroy());
    const { pathname, searchParams } = new URL(incoming.url ?? "/", "http://localhost");
    upgrades
      .upgrade({ path: pathname, query: searchParams, incoming, head }, socket)
      .catch((error: unknown) => refuse(socket, error));
  });
}

/** Answers a request for another protocol that is not granted. */
function refuse(socket: Duplex, error: unknown): void {
  const message = error instanceof Error ? error.message : String(error);
  const status = error instanceof StatusError ? error.status : failure(500, "InternalError", message);
  const body = String(statusAnswer(status).body);
  const lines = [
    `HTTP/1.1 ${status.code} ${STATUS_CODES[status.code] ?? ""}`,
    "content-type: application/json",
    `content-length: ${Buffer.byteLength(body)}`,
    "connection: close",
  ];
  socket.end(`${lines.join("\r\n")}\r\n\r\n${body}`);
}
