import { join, resolve } from "node:path";
import { runningCluster } from "#local/state/endpoint.ts";
import { stateLayout } from "#local/state/layout.ts";
import type { Environment } from "../environment.ts";
import { CliError } from "../errors.ts";
import { exitCodes } from "../exit-codes.ts";

/**
 * Longest path of a state directory. A socket of a Pod is some 65 bytes below it (`pods/UID/socket/NAME.sock`), and its whole path
 * may have 107 (unix(7)).
 */
export const maxStatePath = 40;

/**
 * The directory of the local cluster: the one that is named, or `krt` in the XDG state directory
 * (https://specifications.freedesktop.org/basedir-spec).
 *
 * @throws CliError when its path is too long for the sockets below it
 */
export function stateDirectory(named: string | undefined, variables: Environment["variables"]): string {
  const { XDG_STATE_HOME: state, HOME: home } = variables;
  // A relative XDG_STATE_HOME is to be ignored, says the specification.
  const base = state?.startsWith("/") ? state : join(home || "/", ".local/state");
  const directory = resolve(named ?? join(base, "krt"));
  if (Buffer.byteLength(directory) > maxStatePath) {
    throw new CliError(`the path ${directory} is too long for the sockets of a local cluster`, {
      advice: `Choose one of at most ${maxStatePath} bytes with --state-dir.`,
    });
  }
  return directory;
}

/** Log of a cluster that runs in the background, and of its components. */
export const logOf = (directory: string): string => `${directory}/cluster.log`;

/** The cluster that runs there. @throws CliError when none does */
export function requireRunning(directory: string, { invokedAs }: Pick<Environment, "invokedAs">) {
  const running = runningCluster(directory);
  if (running !== undefined) return running;
  throw new CliError(`no local cluster runs on ${directory}`, {
    advice: `\`${invokedAs} local up\` starts one; --state-dir names another directory.`,
    exitCode: exitCodes.failed,
  });
}

export const kubeconfigOf = (directory: string): string => stateLayout(directory).kubeconfig;
