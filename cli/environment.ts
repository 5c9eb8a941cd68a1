import type { DownloadFiles } from "#extension-api/client/download.ts";
import type { KubeconfigChoice } from "#kube/kubeconfig.ts";
import type { Cancel, Clock, Logger, Random } from "#kube/ports.ts";
import type { Client } from "#kube/resource.ts";

/** One of the streams that people read. */
export interface Output {
  /** Text, or bytes as they are. */
  write(text: string | Uint8Array): void;
  /** Whether somebody watches a terminal that can be redrawn. */
  readonly isTerminal: boolean;
  readonly color: boolean;
  /** Size in characters; what a common terminal has where nobody knows. */
  columns(): number;
  rows(): number;
  onResize(listener: () => void): Cancel;
}

/** What of the file system the commands read. Errors are of Node, with `code`. */
export interface InputFiles {
  /** Names in a directory; undefined when the path is no directory. */
  list(path: string): Promise<readonly string[] | undefined>;
  read(path: string): Promise<Uint8Array>;
  /** Everything that comes through standard input. */
  readInput(): Promise<Uint8Array>;
}

/** The directories in which temporary clusters keep everything. */
export interface StateDirectories {
  /** Makes an empty one, readable by its owner only, with a path that is short enough for the sockets below it. */
  make(): Promise<string>;
  remove(path: string): Promise<void>;
  /** Removes it at once and without waiting, should the process be ended by a second Ctrl-C. */
  removeOnAbruptExit(path: string): Cancel;
}

/** The log of the components of a cluster in this process. */
export interface LogFile {
  readonly logger: Logger;
  /** The last lines, as they stand in the file. */
  tail(lines: number): readonly string[];
  close(): void;
}

/** A cluster that can be talked to. */
export interface Connection {
  readonly client: Client;
  /** Address, for messages. */
  readonly server: string;
  /** Namespace of the context. */
  readonly namespace: string;
  close(): Promise<void>;
}

/** The processes of this machine that local clusters consist of. */
export interface Machine {
  /** Makes a directory if there is none, readable by its owner only. @returns its real path */
  makeDirectory(path: string): Promise<string>;
  /** Starts `krt` with these arguments in a process that outlives this one; its output goes to the end of a file. */
  spawn(args: readonly string[], logFile: string): { readonly pid: number; readonly ended: Promise<string> };
  /** False when there is no such process any more. */
  signal(pid: number, name: "SIGTERM" | "SIGKILL"): boolean;
  isAlive(pid: number): boolean;
  /**
   * Kills the process of one container of a Pod, as a crash would.
   * @param component what the container runs: `agent` or `executor`
   * @returns how many processes were killed
   */
  crash(podUid: string, component: string): Promise<number>;
}

/** Everything that the commands take from the world. */
export interface Environment {
  readonly out: Output;
  readonly err: Output;
  readonly files: InputFiles;
  readonly stateDirectories: StateDirectories;
  /**
   * Opens a log file.
   * @param verbose whether the log goes to standard error, too
   */
  openLogFile(path: string, verbose: boolean): Promise<LogFile>;
  readonly clock: Clock;
  readonly random: Random;
  /** Aborted by the first Ctrl-C (or SIGTERM, SIGHUP, or a reader of our output that went away). */
  readonly interrupted: AbortSignal;
  /** Calls at the second Ctrl-C, which otherwise ends the process at once. */
  onSecondInterrupt(listener: () => void): Cancel;
  /**
   * Asks a person on the terminal, and resolves with the line that was typed.
   * @returns undefined where nobody can be asked, at the end of the input, and when the signal is aborted
   */
  ask(question: string, signal?: AbortSignal): Promise<string | undefined>;
  /** Variables of this process. */
  readonly variables: Readonly<Record<string, string | undefined>>;
  /** How the command was called: `krt`, or `kubectl krt` as a plug-in. */
  readonly invokedAs: string;
  /** @throws CliError when no kubeconfig leads to a cluster */
  connect(choice: KubeconfigChoice): Promise<Connection>;
  /** Names of the contexts of the kubeconfig that counts. */
  contexts(file: string | undefined): Promise<readonly string[]>;
  readonly downloads: DownloadFiles;
  readonly machine: Machine;
  /** Version of this installation. */
  readonly version: string;
  /** Command that starts a server component of this installation. */
  readonly entry: readonly string[];
}
