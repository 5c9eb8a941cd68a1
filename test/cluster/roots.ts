/** Root file systems of images, and programs in them, as a container would have them but without a cluster. */
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { chown, mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { script } from "./setup.ts";

/** User and group of what runs in roots; that of our Pods. */
const user = 65532;

export interface InRoot {
  readonly env?: Readonly<Record<string, string>>;
  /** Directories of this machine by their path in the root. */
  readonly mounts?: Readonly<Record<string, string>>;
  /** Default: the user of our Pods. */
  readonly user?: number;
}

export interface Finished {
  readonly code: number | null;
  readonly output: string;
}

/** A temporary directory with roots of images in it. */
export class Roots implements AsyncDisposable {
  readonly directory: string;

  private constructor(directory: string) {
    this.directory = directory;
  }

  static async make(): Promise<Roots> {
    return new Roots(await mkdtemp(join(tmpdir(), "krt-roots-")));
  }

  /** A directory that the user of our Pods may write to. */
  async writable(name: string): Promise<string> {
    const path = join(this.directory, name);
    await mkdir(path, { recursive: true });
    await chown(path, user, user);
    return path;
  }

  /** The root of an image of ours or of `roots/NAME.Dockerfile`. */
  async export(name: string): Promise<string> {
    const path = join(this.directory, "roots", name);
    await mkdir(path, { recursive: true });
    script("export-root.sh", name, path);
    return path;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.directory, { recursive: true, force: true });
  }
}

/** Starts a command in a root; it and all that it starts end with the returned process. */
export function startInRoot(
  root: string,
  command: readonly string[],
  options: InRoot = {},
): ChildProcessByStdio<null, Readable, Readable> {
  const args = [root, "-u", String(options.user ?? user)];
  for (const [name, value] of Object.entries(options.env ?? {})) args.push("-e", `${name}=${value}`);
  for (const [target, source] of Object.entries(options.mounts ?? {})) args.push("-b", `${source}:${target}`);
  const path = fileURLToPath(new URL("in-root.sh", import.meta.url));
  return spawn(path, [...args, ...command], { stdio: ["ignore", "pipe", "pipe"] });
}

/** Runs a command in a root to its end. */
export async function runInRoot(root: string, command: readonly string[], options?: InRoot): Promise<Finished> {
  const child = startInRoot(root, command, options);
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (data: Buffer) => {
      output += data;
    });
  }
  const [code] = (await once(child, "close")) as [number | null];
  return { code, output };
}
