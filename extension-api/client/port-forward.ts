import { Duplex } from "node:stream";
import { pods } from "#kube/builtin.ts";
import { pathOf } from "#kube/resource.ts";
import { type MessageSocket, type Transport, TransportError } from "#kube/transport.ts";

/** The channel protocol that the kubelet speaks over WebSockets: the first byte of a message is the channel. */
const protocol = "v4.channel.k8s.io";

const data = 0;
const error = 1;

/** Messages are not larger than this, in bytes. */
const maxMessageBytes = 32 * 1024;

/**
 * A connection to a port of a Pod, on the Pod's own 127.0.0.1 (`pods/portforward`).
 *
 * @throws StatusError when the API server refuses, TransportError when it does not answer or has no wire
 */
export async function forwardPort(
  transport: Transport,
  pod: { readonly namespace: string; readonly name: string },
  port: number,
  signal?: AbortSignal,
): Promise<Duplex> {
  if (transport.openSocket === undefined) {
    throw new TransportError("ports of Pods are forwarded over HTTP only; use the address of the API server");
  }
  const socket = await transport.openSocket({
    path: pathOf(pods, { ...pod, subresource: "portforward" }),
    query: { ports: String(port) },
    protocols: [protocol],
    ...(signal && { signal }),
  });
  return new ForwardedPort(socket);
}

/** The data channel as a stream; what comes on the error channel ends it. */
class ForwardedPort extends Duplex {
  readonly #socket: MessageSocket;
  readonly #messages: AsyncIterator<Buffer>;
  /** Each channel begins with the number of the port, in two bytes. */
  readonly #begun = new Set<number>();

  constructor(socket: MessageSocket) {
    super({ allowHalfOpen: false });
    this.#socket = socket;
    this.#messages = socket.messages()[Symbol.asyncIterator]();
  }

  override _read(): void {
    this.#next().then(
      (bytes) => this.push(bytes ?? null),
      (cause: unknown) => this.destroy(cause instanceof Error ? cause : new TransportError(String(cause))),
    );
  }

  /** The next bytes of the data channel; undefined at its end. */
  async #next(): Promise<Buffer | undefined> {
    for (;;) {
      const { done, value } = await this.#messages.next();
      if (done) return undefined;
      const channel = value[0] ?? data;
      const skip = this.#begun.has(channel) ? 1 : 3;
      this.#begun.add(channel);
      const bytes = value.subarray(skip);
      if (bytes.length === 0) continue;
      if (channel === error) throw new TransportError(`the port cannot be forwarded: ${bytes.toString("utf8")}`);
      if (channel === data) return bytes;
    }
  }

  override _write(chunk: Buffer, _: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#send(chunk).then(() => done(), done);
  }

  async #send(chunk: Buffer): Promise<void> {
    for (let at = 0; at < chunk.length; at += maxMessageBytes) {
      await this.#socket.send(Buffer.concat([Buffer.of(data), chunk.subarray(at, at + maxMessageBytes)]));
    }
  }

  override _destroy(cause: Error | null, done: (error?: Error | null) => void): void {
    this.#socket.close();
    done(cause);
  }
}
