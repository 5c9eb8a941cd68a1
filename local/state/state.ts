import type { Clock, Random } from "#kube/ports.ts";
import { createMemoryStorage, type Storage } from "#local/apiserver/index.ts";
import type { HttpListener, ListenOptions } from "#local/http/listener.ts";
import { listen } from "#local/http/listener.ts";
import type { HttpHandler } from "#local/http/message.ts";
import { openDatabase, soon } from "#local/storage/database.ts";
import { lockState } from "#local/storage/lock.ts";
import { createSqliteStorage } from "#local/storage/sqlite-storage.ts";
import { type Credentials, credentialsOf } from "./credentials.ts";
import { readEndpoint, writeEndpoint } from "./endpoint.ts";
import { writePrivate } from "./files.ts";
import { kubeconfigText } from "./kubeconfig.ts";
import { stateLayout } from "./layout.ts";

/** What keeps the objects: gone with the process, or in a file of the state directory. */
export type StorageChoice = "memory" | "sqlite";

/** A state directory that belongs to this process. */
export interface ClusterState {
  readonly storage: Storage;
  readonly credentials: Credentials;
  /** Serves the cluster where it was served before, if that is free, and writes the kubeconfig. */
  serve(handler: HttpHandler, options: Pick<ListenOptions, "upgrades">): Promise<Served>;
  /** Stores what is pending and lets others have the directory. */
  release(): void;
}

/** A cluster that is served. */
export interface Served {
  /** Address for the processes of the node: plain HTTP. */
  readonly url: string;
  /** Path of the kubeconfig, whose address is HTTPS: kubectl sends its token over that only. */
  readonly kubeconfig: string;
  close(): Promise<void>;
}

/** Changes of each resource that watches can resume from. */
const watchHistory = 1000;

/**
 * Takes a state directory, which exists.
 *
 * @throws StateInUseError when another process has it
 */
export function openState(
  directory: string,
  choice: StorageChoice,
  { clock, random }: { readonly clock: Clock; readonly random: Random },
): ClusterState {
  const lock = lockState(directory);
  try {
    const layout = stateLayout(directory);
    const credentials = credentialsOf(layout, clock.now(), random);
    const durable =
      choice === "sqlite"
        ? createSqliteStorage({ database: openDatabase(layout.database), watchHistory, soon })
        : undefined;
    return {
      storage: durable ?? createMemoryStorage(watchHistory),
      credentials,

      async serve(handler, options) {
        const before = choice === "sqlite" ? readEndpoint(directory) : undefined;
        const http = await listenAt(before?.http, handler, options);
        const https = await listenAt(before?.https, handler, { ...options, tls: credentials }).catch(
          async (error: unknown) => {
            await http.close();
            throw error;
          },
        );
        const close = async () => void (await Promise.all([http.close(), https.close()]));
        try {
          writePrivate(layout.kubeconfig, kubeconfigText(https.url, credentials));
          writeEndpoint(directory, { pid: process.pid, https: https.port, http: http.port });
        } catch (error) {
          await close();
          throw error;
        }
        return { url: http.url, kubeconfig: layout.kubeconfig, close };
      },

      release() {
        durable?.close();
        lock.release();
      },
    };
  } catch (error) {
    lock.release();
    throw error;
  }
}

/** At a port if it is free, else at any: clients that know the address go on after a restart. */
async function listenAt(port: number | undefined, handler: HttpHandler, options: ListenOptions): Promise<HttpListener> {
  if (port !== undefined) {
    try {
      return await listen(handler, { ...options, port });
    } catch (error) {
      if (!(error instanceof Error && "code" in error && error.code === "EADDRINUSE")) throw error;
    }
  }
  return listen(handler, options);
}
