import type { Client } from "#kube/resource.ts";
import type { Connection, Environment } from "../environment.ts";
import { CliError } from "../errors.ts";
import { clusterError } from "./errors.ts";
import type { ClusterFlags } from "./options.ts";

/** One command's talk with a cluster. */
export interface Session {
  readonly client: Client;
  readonly server: string;
  readonly namespace: string;
  readonly env: Environment;
}

/**
 * Does some work in the cluster that the flags choose.
 *
 * @throws CliError, into which the refusals of the cluster are turned
 */
export async function inCluster<T>(
  flags: ClusterFlags,
  env: Environment,
  work: (session: Session) => Promise<T>,
): Promise<T> {
  const connection: Connection = await env.connect({ file: flags.kubeconfig, context: flags.context });
  const session = {
    client: connection.client,
    server: connection.server,
    namespace: flags.namespace ?? connection.namespace,
    env,
  };
  try {
    return await work(session);
  } catch (error) {
    throw error instanceof CliError ? error : await clusterError(error, session);
  } finally {
    await connection.close();
  }
}
