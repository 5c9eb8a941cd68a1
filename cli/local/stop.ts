import { sleep } from "#kube/ports.ts";
import { runningCluster } from "#local/state/endpoint.ts";
import type { Environment } from "../environment.ts";
import { CliError } from "../errors.ts";
import { exitCodes } from "../exit-codes.ts";

/** How long a cluster has to end its Pods and store what is pending, in milliseconds. */
const patienceMs = 30_000;

const lookMs = 50;

/**
 * Ends the cluster of a state directory; false when none runs. Its processes are gone when it resolves.
 *
 * @throws CliError when it is not known which process to end
 */
export async function stopLocal(directory: string, { clock, machine }: Environment): Promise<boolean> {
  const running = runningCluster(directory);
  if (running === undefined) return false;
  const { pid } = running;
  if (pid === "unknown") {
    throw new CliError(`a process that does not say who it is holds ${directory}`, {
      advice: `Find it with fuser ${directory}/lock, and end it.`,
      exitCode: exitCodes.platform,
    });
  }
  for (const name of ["SIGTERM", "SIGKILL"] as const) {
    machine.signal(pid, name);
    const deadline = clock.monotonic() + patienceMs;
    while (clock.monotonic() < deadline) {
      // The directory is free before the process has quite gone.
      if (runningCluster(directory)?.pid !== pid && !machine.isAlive(pid)) return true;
      await sleep(clock, lookMs);
    }
  }
  throw new CliError(`process ${pid} does not end`, { exitCode: exitCodes.platform });
}
