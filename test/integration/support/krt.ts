import { type ChildProcess, spawn } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

export const root = resolve(import.meta.dirname, "../../..");

/** How a command ended, and everything that it wrote. */
export interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
  readonly ms: number;
}

/** A `krt` process of its own, with a temporary directory of its own. */
export class Krt {
  readonly child: ChildProcess;
  readonly ended: Promise<Ended>;
  /** Where its state directories go. */
  readonly temporary: string;
  #out = "";
  #err = "";
  readonly #listeners = new Set<() => void>();

  private constructor(temporary: string, args: readonly string[], cwd: string, input: string) {
    const begun = performance.now();
    this.temporary = temporary;
    const env = { ...process.env, TMPDIR: temporary, NO_COLOR: "1", LC_ALL: "C" };
    this.child = spawn(process.execPath, [join(root, "bin/krt.mjs"), ...args], { cwd, env });
    this.child.stdin?.end(input);
    this.child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      this.#out += text;
      for (const listener of this.#listeners) listener();
    });
    this.child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      this.#err += text;
    });
    this.ended = new Promise((done) => {
      this.child.once("close", (code) => done({ code, out: this.#out, err: this.#err, ms: performance.now() - begun }));
    });
  }

  static async start(args: readonly string[], { cwd = root, input = "" } = {}): Promise<Krt> {
    const temporary = await mkdtemp(join(tmpdir(), "k-"));
    // Compiled modules are shared with everybody else: without them each start takes half a second more.
    const compiled = join(tmpdir(), "node-compile-cache");
    await mkdir(compiled, { recursive: true });
    await symlink(compiled, join(temporary, "node-compile-cache"));
    return new Krt(temporary, args, cwd, input);
  }

  /**
   * Resolves when the output holds a text.
   * @throws Error with all output when it ends, or 30 s pass, before that.
   */
  async until(text: string): Promise<void> {
    const found = Promise.withResolvers<void>();
    const look = () => this.#out.includes(text) && found.resolve();
    this.#listeners.add(look);
    look();
    const timer = setTimeout(() => found.reject(new Error(`no ${text} in ${this.#out}${this.#err}`)), 30_000);
    void this.ended.then(() => found.reject(new Error(`no ${text} in ${this.#out}${this.#err}`)));
    try {
      await found.promise;
    } finally {
      clearTimeout(timer);
      this.#listeners.delete(look);
    }
  }

  /** What it left: state directories, and processes that know of them. */
  async leftovers(): Promise<{ directories: string[]; processes: string[] }> {
    const names = await readdir(this.temporary);
    const directories = names.filter((name) => name.startsWith("krt-"));
    return { directories, processes: await processesBelow(this.temporary) };
  }

  async cleanUp(): Promise<void> {
    await this.ended;
    await rm(this.temporary, { recursive: true, force: true });
  }
}

/** Runs `krt` to its end. */
export async function krt(args: readonly string[], options: { cwd?: string; input?: string } = {}) {
  const process = await Krt.start(args, options);
  const ended = await process.ended;
  const left = await process.leftovers();
  await process.cleanUp();
  return { ...ended, left };
}

/**
 * Command lines of processes that have anything to do with a directory: in their arguments, their working directory, or their
 * environment, which every process of a Pod inherits. Zombies have none of these.
 */
export async function processesBelow(directory: string): Promise<string[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid);
  const found = await Promise.all(
    pids.map(async (pid) => {
      const parts = ["cmdline", "environ"].map((name) => readFile(`/proc/${pid}/${name}`, "utf8").catch(() => ""));
      const [commandLine = "", environment = ""] = await Promise.all(parts);
      const isRelated = `${commandLine}\0${environment}`.includes(directory);
      return isRelated ? commandLine.replaceAll("\0", " ").trim() : undefined;
    }),
  );
  return found.filter((line): line is string => line !== undefined && line !== "");
}

/** A directory for the files of a test. */
export async function workDirectory(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "w-"));
  await mkdir(directory, { recursive: true });
  return directory;
}

/** Output without what differs from run to run: generated names, durations, digests, sizes of archives, and whether the Pods were ready at once. */
export function steady(text: string): string {
  return text
    .replace(/^\S+ waits: .*\n/gm, "")
    .replace(/-[bcdfghjklmnpqrstvwxz2456789]{5}\b/g, "-xxxxx")
    .replace(/\b\d+(\.\d+)?(ms|s)\b/g, "1s")
    .replace(/ \d+ B {2}sha256:[0-9a-f]{64}/g, " 1 B  sha256:x")
    .replace(/[ \t]+$/gm, "");
}
