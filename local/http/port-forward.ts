import { connect } from "node:net";
import type { Duplex } from "node:stream";
import { type WebSocket, WebSocketServer } from "ws";
import { failure, StatusError } from "#kube/transport.ts";
import type { Upgrade, Upgrades } from "./upgrades.ts";

/** The channel protocol of the kubelet: binary messages, the first byte is the channel. */
const protocol = "v4.channel.k8s.io";

/** Bytes on their way to the client before the Pod is held up. */
const maxUnsentBytes = 1024 * 1024;

export interface PortForwardOptions {
  readonly authorized: (authorization: string | undefined) => boolean;
  /**
   * The socket of a process that stands for a port of a Pod.
   * @throws StatusError 404 when there is no such Pod, 400 when nothing listens on the port there
   */
  readonly resolve: (namespace: string, pod: string, port: number) => Promise<string>;
}

const form = /^\/api\/v1\/namespaces\/([^/]+)\/pods\/([^/]+)\/portforward$/;

/**
 * `GET /api/v1/namespaces/NS/pods/NAME/portforward?ports=N` as a WebSocket: for each port a data and an error channel, both
 * begun by the port number in two bytes, little endian. The SPDY forms that kubectl speaks are refused with a clear word.
 */
export function portForward(options: PortForwardOptions): Upgrades {
  const server = new WebSocketServer({ noServer: true, perMessageDeflate: false, handleProtocols: () => protocol });
  return {
    async upgrade(request, socket) {
      const { path, ports } = await accept(options, request);
      server.handleUpgrade(request.incoming, socket, request.head, (client) => bridge(client, path, ports));
    },
    close() {
      for (const client of server.clients) client.terminate();
    },
  };
}

async function accept(options: PortForwardOptions, { path, query, incoming }: Upgrade) {
  if (!options.authorized(incoming.headers.authorization)) {
    throw new StatusError(failure(401, "Unauthorized", "Unauthorized"));
  }
  const [, namespace, pod] = form.exec(path) ?? [];
  if (namespace === undefined || pod === undefined) {
    throw new StatusError(failure(404, "NotFound", `${path} takes no upgrade; pods/portforward does`));
  }
  const offered = (incoming.headers["sec-websocket-protocol"] ?? "").split(",").map((one) => one.trim());
  if (incoming.headers.upgrade?.toLowerCase() !== "websocket" || !offered.includes(protocol)) {
    const message = `the local cluster forwards ports over WebSocket with ${protocol} only: use krt, or connect to the process`;
    throw new StatusError(failure(400, "BadRequest", message));
  }
  const ports = query.getAll("ports");
  const port = /^\d{1,5}$/.test(ports[0] ?? "") ? Number(ports[0]) : 0;
  if (ports.length !== 1 || port < 1 || port > 65_535) {
    throw new StatusError(failure(400, "BadRequest", `ports is one port from 1 to 65535, not ${ports.join(",")}`));
  }
  return {
    path: await options.resolve(decodeURIComponent(namespace), decodeURIComponent(pod), port),
    ports: Buffer.from([port & 0xff, port >> 8]),
  };
}

const dataChannel = Buffer.of(0);
const errorChannel = Buffer.of(1);

/** Carries bytes between the client's data channel and a process, each side no faster than the other takes them. */
function bridge(client: WebSocket, path: string, ports: Buffer): void {
  const process: Duplex = connect(path);
  client.send(Buffer.concat([dataChannel, ports]));
  client.send(Buffer.concat([errorChannel, ports]));

  client.on("message", (message: Buffer) => {
    if (message[0] !== 0 || message.length === 1) return;
    if (process.write(message.subarray(1))) return;
    client.pause();
    process.once("drain", () => client.resume());
  });
  process.on("data", (bytes: Buffer) => {
    client.send(Buffer.concat([dataChannel, bytes]), () => {
      if (process.isPaused() && client.bufferedAmount < maxUnsentBytes / 2) process.resume();
    });
    if (client.bufferedAmount > maxUnsentBytes) process.pause();
  });
  process.on("error", (error) => {
    client.send(Buffer.concat([errorChannel, Buffer.from(`the port does not answer: ${error.message}`)]));
  });
  process.on("close", () => client.close(1000));
  client.on("close", () => process.destroy());
  client.on("error", () => process.destroy()); // a protocol error, or a broken line: close follows
}
