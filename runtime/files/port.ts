/**
 * The only way by which the agent touches files. Paths are absolute and must lie below `root`; every component between
 * root and the last one must be a real directory, and the last one is never followed, so that nothing a Run leaves behind
 * (links, devices, pipes) can lead the agent elsewhere. `system-files.ts` is the real one, `memory-files.ts` the simulated.
 */
export interface Files {
  /** Absolute path of the directory that everything lies below. It is made by whoever starts the agent. */
  readonly root: string;
  /** What the path itself is (a link is not followed), or `undefined` when nothing is there. */
  stat(path: string): Promise<FileInfo | undefined>;
  /** Entries of a directory, ordered by the bytes of their names. More than `maxEntries` is a `TooMany` error. */
  list(path: string, maxEntries: number): Promise<readonly Entry[]>;
  /** Makes a directory and those above it (mode 0755 for them). An existing directory is left as it is. */
  makeDirectory(path: string, mode?: number): Promise<void>;
  /** Content of a regular file, at most `maxBytes` of it (a longer file is cut, not refused). */
  readFile(path: string, maxBytes: number): Promise<Uint8Array>;
  /** Writes a regular file as a whole: a reader sees the old or the new content, never a mixture. Default mode 0644. */
  writeFile(path: string, content: Uint8Array, mode?: number): Promise<void>;
  /** Opens a regular file. The caller closes it. */
  openFile(path: string): Promise<OpenedFile>;
  /** Makes a new file; an existing path is an `Exists` error. The directory above must exist. The caller closes it. */
  createFile(path: string, mode: number): Promise<FileWriter>;
  /** Sets the permission bits of a regular file or directory. */
  setMode(path: string, mode: number): Promise<void>;
  /** Moves a path within the root; an existing file at the target is replaced, as rename(2) does. */
  rename(from: string, to: string): Promise<void>;
  /** Removes a file or a whole tree, links as links, read-only directories too. Nothing there is not an error. */
  remove(path: string): Promise<void>;
  /** Removes a directory that has no entries; one that has is a `NotEmpty` error. Nothing there is not an error. */
  removeDirectory(path: string): Promise<void>;
  /** Makes the entries of a directory durable. */
  syncDirectory(path: string): Promise<void>;
}

export type EntryKind = "File" | "Directory" | "Symlink" | "Other";

export interface FileInfo {
  readonly kind: EntryKind;
  readonly sizeBytes: number;
  /** Permission bits only. */
  readonly mode: number;
  /** Number of names this inode has; over 1 for a file means hard links. */
  readonly links: number;
  /** Milliseconds since the epoch. */
  readonly modifiedAt: number;
}

export interface Entry extends FileInfo {
  /** Name without directory. Where it is not UTF-8, bytes are replaced and `validName` is false. */
  readonly name: string;
  readonly validName: boolean;
}

export interface OpenedFile {
  readonly info: FileInfo;
  /** The bytes from `start` (default 0) up to but without `end` (default: the end of the file). */
  read(start?: number, end?: number): AsyncIterable<Uint8Array>;
  close(): Promise<void>;
}

export interface FileWriter {
  write(chunk: Uint8Array): Promise<void>;
  /** Makes the content durable. */
  sync(): Promise<void>;
  close(): Promise<void>;
}

/**
 * - `Unsafe`: a link, device, pipe or socket where a file or directory was expected, or a path that leaves the root.
 * - `Missing`, `Exists`, `NotEmpty`, `WrongKind` (file for directory or the reverse), `TooLong` (name), `TooMany` (entries).
 * - `NoSpace`: disk or quota full. `Denied`: no permission. `Failed`: any other error of the file system.
 */
export type FilesErrorCode =
  | "Unsafe"
  | "Missing"
  | "Exists"
  | "NotEmpty"
  | "WrongKind"
  | "TooLong"
  | "TooMany"
  | "NoSpace"
  | "Denied"
  | "Failed";

/** What a {@link Files} throws. `code` is for decisions, the message for people. */
export class FilesError extends Error {
  override readonly name = "FilesError";
  readonly code: FilesErrorCode;
  readonly path: string;

  constructor(code: FilesErrorCode, path: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
    this.path = path;
  }
}

/** Whether an error is a {@link FilesError} with one of the codes. */
export function isFilesError(error: unknown, ...codes: readonly FilesErrorCode[]): error is FilesError {
  return error instanceof FilesError && (codes.length === 0 || codes.includes(error.code));
}
