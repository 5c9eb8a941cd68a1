import { chmod, rm } from "node:fs/promises";
import { createServer, type Server, type ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { type Clock, type Logger, sleep } from "#kube/ports.ts";
import type { ArtifactAddress } from "./artifact-address.ts";
import type { ArtifactHttpRequest, ArtifactHttpResponse } from "./artifact-server.ts";

/** Pause before a port that somebody else has is tried again. */
const retryMs = 5000;

export interface ArtifactListener {
  /** Resolves with the port (0 for a socket) when it is open. */
  readonly listening: Promise<number>;
  close(): Promise<void>;
}

/**
 * Serves artifacts on 127.0.0.1 or a unix socket that only its owner may use. A port that is taken (a program of a Run may
 * have it) is tried until it is free: nothing else that the agent does depends on it.
 */
export function listenForArtifacts(
  address: ArtifactAddress,
  answer: (request: ArtifactHttpRequest) => Promise<ArtifactHttpResponse>,
  deps: { readonly clock: Clock; readonly logger: Logger },
): ArtifactListener {
  const { clock, logger } = deps;
  const ending = new AbortController();
  const server = createServer((incoming, outgoing) => {
    const gone = new AbortController();
    outgoing.on("close", () => gone.abort());
    const { range, "if-match": ifMatch } = incoming.headers;
    const request = {
      method: incoming.method ?? "GET",
      url: incoming.url ?? "/",
      headers: { range, "if-match": ifMatch },
      signal: gone.signal,
    };
    incoming.resume(); // a body says nothing here
    answer(request)
      .then((response) => send(response, outgoing))
      .catch((error: unknown) => {
        // The reader left, or the store failed in the middle: a broken connection says that it was not all.
        logger.info("an artifact was not sent to its end", { error });
        outgoing.destroy();
      });
  });

  async function listening(): Promise<number> {
    for (;;) {
      try {
        return await open(server, address);
      } catch (error) {
        if (ending.signal.aborted) throw error;
        logger.warn("artifacts cannot be served; trying again", { address: JSON.stringify(address), error });
        await sleep(clock, retryMs, ending.signal);
        if (ending.signal.aborted) throw error;
      }
    }
  }

  const opened = listening();
  opened.catch(() => {}); // only when it is closed before it was open
  return {
    listening: opened,
    async close() {
      ending.abort();
      await opened.catch(() => {});
      if (!server.listening) return;
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      });
    },
  };
}

async function open(server: Server, address: ArtifactAddress): Promise<number> {
  // A socket that an earlier process of ours left.
  if ("socket" in address) await rm(address.socket, { force: true });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    const done = () => {
      server.off("error", reject);
      resolve();
    };
    if ("socket" in address) server.listen(address.socket, done);
    else server.listen(address.port, "127.0.0.1", done);
  });
  if ("socket" in address) await chmod(address.socket, 0o600);
  const bound = server.address();
  return bound !== null && typeof bound === "object" ? bound.port : 0;
}

async function send({ code, headers, body, close }: ArtifactHttpResponse, outgoing: ServerResponse): Promise<void> {
  try {
    outgoing.writeHead(code, headers);
    if (typeof body === "string") outgoing.end(body);
    else await pipeline(Readable.from(body, { objectMode: false }), outgoing);
  } finally {
    await close();
  }
}
