import { readdirSync, statSync } from "node:fs";
import { basename, dirname } from "node:path";

/** How much of a container's output is kept: what a kubelet keeps unless it is told otherwise. */
export interface LogLimits {
  /** Bytes after which another file is begun. */
  readonly fileBytes: number;
  /** Files that are kept, the one that grows included. */
  readonly files: number;
}

/** Those of a kubelet: containerLogMaxSize and containerLogMaxFiles. */
export const defaultLogLimits: LogLimits = { fileBytes: 10 * 1024 * 1024, files: 5 };

/** One file of a log. */
export interface LogSegment {
  readonly path: string;
  /** Bytes of the log before it, those that are not kept any more included. */
  readonly start: number;
}

/** Where the file goes that is full: its name says where in the log it begins. */
export const rotatedPath = (path: string, start: number): string => `${path}.${String(start).padStart(15, "0")}`;

/** The files of a log in order; the last is the one that grows, if it was begun. */
export function logSegments(path: string): readonly LogSegment[] {
  const prefix = `${basename(path)}.`;
  const starts = namesBeside(path)
    .filter((name) => name.startsWith(prefix) && /^\d{15}$/.test(name.slice(prefix.length)))
    .map((name) => Number(name.slice(prefix.length)))
    .sort((a, b) => a - b);
  const rotated = starts.map((start) => ({ path: rotatedPath(path, start), start }));
  return exists(path) ? [...rotated, { path, start: endOf(rotated) }] : rotated;
}

/** Where the log ends whose files these are. */
export function endOf(segments: readonly LogSegment[]): number {
  const last = segments.at(-1);
  return last === undefined ? 0 : last.start + statSync(last.path).size;
}

function namesBeside(path: string): readonly string[] {
  try {
    return readdirSync(dirname(path));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}

/** Whether there is something at a path. */
export const exists = (path: string): boolean => statSync(path, { throwIfNoEntry: false }) !== undefined;
