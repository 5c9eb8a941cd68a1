import type { Logger } from "#kube/ports.ts";
import type { Cluster, ClusterOptions } from "#local/cluster.ts";
import type { Environment } from "../environment.ts";
import { CliError } from "../errors.ts";
import { exitCodes } from "../exit-codes.ts";

/**
 * Starts a cluster in this process, on a directory that exists.
 *
 * @throws CliError when another process has the directory
 */
export async function startLocal(
  directory: string,
  storage: NonNullable<ClusterOptions["storage"]>,
  { clock, random, entry, invokedAs }: Environment,
  logger: Logger,
): Promise<Cluster> {
  // Loaded now, so that help, and mistakes in files, are answered at once.
  const { startCluster } = await import("#local/cluster.ts");
  try {
    return await startCluster({ stateDirectory: directory, storage, entry, clock, random, logger });
  } catch (error) {
    if (!(error instanceof Error && error.name === "StateInUseError")) throw error;
    throw new CliError(error.message.replace(/; stop it.*$/, ""), {
      advice: `\`${invokedAs} local down\` stops it; --state-dir chooses another directory.`,
      exitCode: exitCodes.failed,
      cause: error,
    });
  }
}
