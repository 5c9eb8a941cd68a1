/** Programs as data, for the simulated executor. */
import type { OutputStream } from "#runtime/executor-client.ts";

export interface SimulatedProgram {
  /** How long it runs, in milliseconds. Time in which its output is blocked does not count. */
  readonly durationMs: number;
  /** Default 0. */
  readonly exitCode?: number;
  /** Ends by this signal in place of an exit code, as if somebody else had killed it. */
  readonly signal?: string;
  readonly outOfMemory?: boolean;
  readonly output?: readonly SimulatedOutput[];
  readonly writesFiles?: readonly SimulatedFile[];
  /** What SIGTERM does; default `dies` at once by the signal. */
  readonly onSigterm?: "dies" | "ignores" | { readonly afterMs: number; readonly exitCode: number };
  /** No process comes to be at all; everything else is ignored. */
  readonly startFailure?: { readonly exitCode: 126 | 127; readonly message: string };
}

export interface SimulatedOutput {
  /** Milliseconds after the start; default 0. */
  readonly atMs?: number;
  /** Default stdout. */
  readonly stream?: OutputStream;
  readonly data: string | Uint8Array;
}

export interface SimulatedFile {
  /** Milliseconds after the start; default 0. */
  readonly atMs?: number;
  /** Absolute, or relative to the working directory; `$NAME` at the beginning is a variable of the request. */
  readonly path: string;
  readonly content: string | Uint8Array;
}

export type SimulatedStep =
  | { readonly atMs: number; readonly kind: "output"; readonly stream: OutputStream; readonly data: Uint8Array }
  | { readonly atMs: number; readonly kind: "file"; readonly path: string; readonly content: Uint8Array };

/** What the program does, in order of time; at the same time files come before output, as announced files exist. */
export function stepsOf(program: SimulatedProgram): readonly SimulatedStep[] {
  const files = (program.writesFiles ?? []).map(
    (file): SimulatedStep => ({ kind: "file", atMs: file.atMs ?? 0, path: file.path, content: bytesOf(file.content) }),
  );
  const output = (program.output ?? []).map(
    (item): SimulatedStep => ({
      kind: "output",
      atMs: item.atMs ?? 0,
      stream: item.stream ?? "stdout",
      data: bytesOf(item.data),
    }),
  );
  return [...files, ...output].filter((step) => step.atMs <= program.durationMs).sort((a, b) => a.atMs - b.atMs);
}

function bytesOf(data: string | Uint8Array): Uint8Array {
  return typeof data === "string" ? new TextEncoder().encode(data) : data;
}
