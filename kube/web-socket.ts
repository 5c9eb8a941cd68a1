import { WebSocket } from "ws";
import { statusError } from "#kube/http-status.ts";
import type { TlsMaterial } from "#kube/http-transport.ts";
import { type MessageSocket, TransportError } from "#kube/transport.ts";

/** Messages that wait for their reader before the sender is held up. */
const maxWaiting = 16;
/** Bytes under way before a writer is held up. */
const maxUnsentBytes = 1024 * 1024;
/** Largest message that is taken; the API server sends at most 32 KiB at a time. */
const maxMessageBytes = 4 * 1024 * 1024;

export interface SocketTarget {
  /** `ws:` or `wss:`. */
  readonly url: string;
  readonly protocols: readonly string[];
  readonly headers: Readonly<Record<string, string>>;
  readonly tls: TlsMaterial;
  readonly signal: AbortSignal;
  /** Request in words, for messages. */
  readonly what: string;
  /** Wall clock in milliseconds. */
  readonly now: () => number;
  /** Called when the socket is closed, whoever closed it. */
  readonly onClose: () => void;
}

/**
 * Opens a WebSocket. `ws` instead of Node's own client, which can neither send headers and client certificates nor hold up a
 * sender that is faster than the reader.
 *
 * @throws StatusError when the server answers with anything but the upgrade, TransportError when it does not answer
 */
export function openWebSocket(target: SocketTarget): Promise<MessageSocket> {
  const { url, protocols, headers, tls, signal, what, now, onClose } = target;
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const socket = new WebSocket(url, [...protocols], {
      headers,
      ...tlsOptions(tls),
      perMessageDeflate: false,
      maxPayload: maxMessageBytes,
      followRedirects: false,
    });
    const abort = () => socket.terminate();
    signal.addEventListener("abort", abort, { once: true });
    const fail = (error: Error) => {
      signal.removeEventListener("abort", abort);
      reject(signal.aborted ? signal.reason : error);
    };
    socket.on("error", (error) => fail(new TransportError(`${what}: ${error.message}`, { cause: error })));
    socket.once("unexpected-response", (_, response) => {
      const parts: Buffer[] = [];
      response.on("data", (part: Buffer) => parts.push(part));
      response.on("error", fail);
      response.on("end", () => {
        const body = Buffer.concat(parts).toString("utf8");
        fail(statusError(what, response.statusCode ?? 0, body, response.headers["retry-after"], now()));
      });
    });
    socket.once("close", () => {
      signal.removeEventListener("abort", abort);
      onClose();
    });
    // Listening begins before the first message can arrive.
    const messages = new OpenSocket(socket, what);
    socket.once("open", () => resolve(messages));
  });
}

class OpenSocket implements MessageSocket {
  readonly #socket: WebSocket;
  readonly #what: string;
  readonly #waiting: Buffer[] = [];
  #end: { readonly error: Error | undefined } | undefined;
  #wake: (() => void) | undefined;

  constructor(socket: WebSocket, what: string) {
    this.#socket = socket;
    this.#what = what;
    socket.on("message", (data) => {
      this.#waiting.push(bytesOf(data));
      if (this.#waiting.length >= maxWaiting) socket.pause();
      this.#wake?.();
    });
    socket.on("error", (error) => this.#ended(error));
    socket.on("close", (code, reason) => {
      const good = code === 1000 || code === 1001 || code === 1005;
      this.#ended(good ? undefined : new Error(`closed with ${code} ${reason.toString("utf8")}`.trim()));
    });
  }

  get protocol(): string {
    return this.#socket.protocol;
  }

  async send(data: Uint8Array): Promise<void> {
    const sent = new Promise<void>((resolve, reject) => {
      this.#socket.send(data, (error) => (error ? reject(this.#broken(error)) : resolve()));
    });
    if (this.#socket.bufferedAmount > maxUnsentBytes) await sent;
    else sent.catch(() => {}); // the reader learns of it
  }

  async *messages(): AsyncGenerator<Buffer> {
    try {
      for (;;) {
        const next = this.#waiting.shift();
        if (next !== undefined) {
          if (this.#waiting.length < maxWaiting / 2 && this.#socket.isPaused) this.#socket.resume();
          yield next;
        } else if (this.#end !== undefined) {
          if (this.#end.error !== undefined) throw this.#broken(this.#end.error);
          return;
        } else {
          await new Promise<void>((resolve) => {
            this.#wake = resolve;
          });
          this.#wake = undefined;
        }
      }
    } finally {
      this.close();
    }
  }

  close(): void {
    // A paused socket would never see the answer to its close.
    if (this.#socket.isPaused) this.#socket.terminate();
    else this.#socket.close();
  }

  #ended(error: Error | undefined): void {
    this.#end ??= { error };
    this.#wake?.();
  }

  #broken(error: Error): TransportError {
    return new TransportError(`${this.#what}: ${error.message}`, { cause: error });
  }
}

function bytesOf(data: Buffer | ArrayBuffer | Buffer[]): Buffer {
  if (Buffer.isBuffer(data)) return data;
  return Array.isArray(data) ? Buffer.concat(data) : Buffer.from(data);
}

function tlsOptions({ ca, cert, key, servername, rejectUnauthorized }: TlsMaterial) {
  return {
    ...(ca !== undefined && { ca }),
    ...(cert !== undefined && { cert }),
    ...(key !== undefined && { key }),
    ...(servername !== undefined && { servername }),
    ...(rejectUnauthorized !== undefined && { rejectUnauthorized }),
  };
}
