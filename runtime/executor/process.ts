/** Adapter: starts one process and reads its output. */
import { type ChildProcess, spawn } from "node:child_process";
import { closeSync } from "node:fs";
import { Socket } from "node:net";
import type { Readable } from "node:stream";
import type { Pipe } from "#runtime/executor/pipes.ts";
import type { OutputStream } from "#runtime/executor-client.ts";

export interface Command {
  readonly file: string;
  readonly args: readonly string[];
  readonly workingDir: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

export interface ProcessListener {
  output(stream: OutputStream, bytes: Uint8Array): void;
  /** The process has ended; its output may still be coming. */
  exited(code: number | null, signal: string | null): void;
  /** Both streams are at their end: nobody holds their writing ends any more. */
  closed(): void;
}

export interface RunningProcess {
  readonly pid: number;
  /** Reads no output for now; a process that writes more than a pipe holds stands still. */
  pause(): void;
  resume(): void;
  /** Gives up reading; `closed` follows. */
  abandonOutput(): void;
}

/**
 * Starts a process that leads a session and group of its own, with standard input from /dev/null.
 *
 * @param pipes for stdout and stderr; they belong to this function from the call on. Without them sockets are used.
 * @throws the error of the system, with its `code`, when the program cannot be started.
 */
export async function startProcess(
  command: Command,
  pipes: readonly [Pipe, Pipe] | undefined,
  listener: ProcessListener,
): Promise<RunningProcess> {
  let child: ChildProcess;
  try {
    child = spawn(command.file, [...command.args], {
      cwd: command.workingDir,
      env: command.env,
      detached: true,
      stdio: ["ignore", pipes?.[0].writeEnd ?? "pipe", pipes?.[1].writeEnd ?? "pipe"],
    });
  } catch (error) {
    for (const pipe of pipes ?? []) closeSync(pipe.readEnd);
    throw error;
  } finally {
    for (const pipe of pipes ?? []) closeSync(pipe.writeEnd); // the child has its own, and its end must be the end
  }
  const { pid } = child;
  if (pid === undefined) {
    for (const pipe of pipes ?? []) closeSync(pipe.readEnd);
    throw await new Promise<Error>((resolve) => child.once("error", resolve));
  }
  child.on("error", () => {}); // of signals sent through the child object, which we never do
  child.on("exit", (code, signal) => listener.exited(code, signal));
  const streams = [streamOf(child.stdout, pipes?.[0]), streamOf(child.stderr, pipes?.[1])];
  let open = streams.length;
  for (const [index, stream] of streams.entries()) {
    const name = index === 0 ? "stdout" : "stderr";
    stream.on("data", (bytes: Buffer) => listener.output(name, bytes));
    stream.on("error", () => {}); // a reset of the other side is its end, and `close` follows
    stream.on("close", () => {
      if (--open === 0) listener.closed();
    });
  }
  return {
    pid,
    pause() {
      for (const stream of streams) stream.pause();
    },
    resume() {
      for (const stream of streams) stream.resume();
    },
    abandonOutput() {
      for (const stream of streams) stream.destroy();
    },
  };
}

function streamOf(socket: Readable | null, pipe: Pipe | undefined): Readable {
  if (pipe !== undefined) return new Socket({ fd: pipe.readEnd, readable: true, writable: false });
  if (socket === null) throw new Error("the child has no output stream");
  return socket;
}
