import type { Cancel, Clock, Logger, Random } from "#kube/ports.ts";

/** One of the streams that people read. */
export interface Output {
  write(text: string): void;
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
  openLogFile(path: string, verbose: boolean): LogFile;
  readonly clock: Clock;
  readonly random: Random;
  /** Aborted by the first Ctrl-C (or SIGTERM, SIGHUP, or a reader of our output that went away). */
  readonly interrupted: AbortSignal;
  /** Version of this installation. */
  readonly version: string;
  /** Command that starts a server component of this installation. */
  readonly entry: readonly string[];
}
