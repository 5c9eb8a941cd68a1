/**
 * Adapter: pipes for the output of processes. Node gives children sockets in place of pipes, and those cannot be opened by name,
 * so `echo oops > /dev/stderr` or `tee /dev/stdout` in a script would fail with "No such device or address". Named pipes can.
 */
import { spawn } from "node:child_process";
import { closeSync, constants, mkdirSync, openSync, rmSync, unlinkSync } from "node:fs";

/** Both ends of one pipe, open. */
export interface Pipe {
  readonly readEnd: number;
  readonly writeEnd: number;
}

export interface PipeSource {
  /** One pipe for each output stream, or undefined when this machine has no `mkfifo`: sockets must do there. */
  take(): Promise<readonly [stdout: Pipe, stderr: Pipe] | undefined>;
  /** Removes what is left on disk. */
  close(): Promise<void>;
}

const batch = 64;
const refillBelow = 16;

/**
 * Makes named pipes ahead of need, as one call of `mkfifo` takes as long as the start of a program and Node cannot make them
 * itself. Each is used once and has no name from the moment it is open.
 *
 * @param directory is removed and made anew; only we may use it.
 * @param path where `mkfifo` is searched.
 */
export class NamedPipes implements PipeSource {
  readonly #directory: string;
  readonly #path: string | undefined;
  readonly #names: string[] = [];
  #made = 0;
  #refill: Promise<void> | undefined;
  #unavailable = false;

  constructor(directory: string, path: string | undefined) {
    this.#directory = directory;
    this.#path = path;
    rmSync(directory, { recursive: true, force: true });
    mkdirSync(directory, { mode: 0o700 });
    this.#startRefill();
  }

  async take(): Promise<readonly [Pipe, Pipe] | undefined> {
    while (this.#names.length < 2 && !this.#unavailable) await this.#startRefill();
    if (this.#unavailable) return undefined;
    const first = this.#open();
    try {
      const pipes = [first, this.#open()] as const;
      if (this.#names.length < refillBelow) this.#startRefill();
      return pipes;
    } catch (error) {
      closePipe(first);
      throw error;
    }
  }

  async close(): Promise<void> {
    this.#unavailable = true;
    await this.#refill; // or it would go on making pipes in a directory that is being removed
    rmSync(this.#directory, { recursive: true, force: true });
  }

  #open(): Pipe {
    const name = this.#names.pop();
    if (name === undefined) throw new Error("no named pipe is left");
    // A reader that does not wait for a writer first; then the writer finds a reader and does not wait either.
    const readEnd = openSync(name, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      return { readEnd, writeEnd: openSync(name, constants.O_WRONLY) };
    } catch (error) {
      closeSync(readEnd);
      throw error;
    } finally {
      unlinkSync(name);
    }
  }

  #startRefill(): Promise<void> {
    this.#refill ??= this.#make().finally(() => {
      this.#refill = undefined;
    });
    return this.#refill;
  }

  #make(): Promise<void> {
    const names = Array.from({ length: batch }, () => `${this.#directory}/${this.#made++}`);
    return new Promise((resolve) => {
      const child = spawn("mkfifo", ["-m", "600", ...names], { stdio: "ignore", env: { PATH: this.#path } });
      child.on("error", () => {
        this.#unavailable = true;
        resolve();
      });
      child.on("exit", (code) => {
        if (code === 0 && !this.#unavailable) this.#names.push(...names);
        else this.#unavailable = true;
        resolve();
      });
    });
  }
}

/** For pipes that no process got. */
export function closePipe(pipe: Pipe): void {
  closeSync(pipe.readEnd);
  closeSync(pipe.writeEnd);
}
