/** Adapter: which program runs a script, and whether it can be started. Reads the file system, changes nothing. */
import { accessSync, closeSync, constants, openSync, readSync, type Stats, statSync } from "node:fs";
import type { ExecuteRequest } from "#runtime/executor-client.ts";

export type InterpreterName = "bash" | "python" | "node";

/** Command prefixes in order of preference. Python writes through, or its output would come in blocks of 8 KiB. */
const interpreters: Readonly<Record<InterpreterName, readonly (readonly [string, ...string[]])[]>> = {
  bash: [["bash"]],
  python: [
    ["python3", "-u"],
    ["python", "-u"],
  ],
  node: [["node"]],
};

/** What runs scripts by default, and what is wrong with it (for Health). */
export interface DefaultInterpreter {
  readonly command: readonly string[];
  /** Undefined when it can be started. */
  readonly problem?: string;
}

/** @param path the PATH of the container. */
export function findInterpreter(
  wanted: { readonly interpreter: InterpreterName } | { readonly command: readonly string[] },
  path: string | undefined,
): DefaultInterpreter {
  if ("command" in wanted) {
    const [program = ""] = wanted.command;
    if (findProgram(program, path) !== undefined) return { command: wanted.command };
    return { command: wanted.command, problem: `${program} of spec.server.command is not in the image` };
  }
  const candidates = interpreters[wanted.interpreter];
  const command = candidates.find(([program]) => findProgram(program, path) !== undefined);
  if (command !== undefined) return { command };
  const tried = candidates.map(([program]) => program).join(" or ");
  return {
    command: candidates[0] ?? [],
    problem: `the image has no ${tried} in PATH: use an image that has it, or set spec.server.command`,
  };
}

/** Absolute path of an executable file, as a shell finds it. */
export function findProgram(name: string, path: string | undefined): string | undefined {
  const places = name.includes("/")
    ? [name]
    : (path ?? "/usr/local/bin:/usr/bin:/bin").split(":").map((dir) => `${dir}/${name}`);
  return places.find((place) => name !== "" && isExecutable(place));
}

/** The program could not be started; code as shells have it. */
export interface StartFailure {
  readonly exitCode: 126 | 127;
  readonly message: string;
}

/** The whole command of a request, or why there is none. */
export function argvOf(request: ExecuteRequest, standard: readonly string[]): readonly string[] | StartFailure {
  if (!statOf(request.workingDir)?.isDirectory()) {
    return { exitCode: 127, message: `the working directory ${request.workingDir} does not exist` };
  }
  const { script, args } = request;
  if (script === undefined) return args;
  const head = headOf(script);
  if (head === undefined) return { exitCode: 127, message: `the script ${script} is not a file that can be read` };
  if (head.startsWith("#!") && isExecutable(script)) return [script, ...args];
  const prefix = request.interpreter !== undefined && request.interpreter.length > 0 ? request.interpreter : standard;
  return [...prefix, script, ...args];
}

/** The error of a failed start in words. `argv` is what was tried. */
export function startFailure(error: unknown, argv: readonly string[]): StartFailure {
  const [program = ""] = argv;
  const code = (error as NodeJS.ErrnoException).code ?? "";
  switch (code) {
    case "ENOENT":
      return { exitCode: 127, message: missing(program) };
    case "EACCES":
      return { exitCode: 126, message: `${program} is not executable, or a directory on the way to it is closed` };
    case "ENOEXEC":
      return { exitCode: 126, message: `${program} is no program for this machine, nor a script that begins with #!` };
    case "ETXTBSY":
      return { exitCode: 126, message: `${program} is open for writing somewhere, so it cannot be executed` };
    case "E2BIG":
      return {
        exitCode: 126,
        message: "arguments and environment together are larger than the kernel takes (128 KiB each item)",
      };
    case "EAGAIN":
    case "ENOMEM":
      return {
        exitCode: 126,
        message: `no process can be started now (${code}): the container is at its limit of processes or memory`,
      };
    default:
      return {
        exitCode: 126,
        message: `${program} cannot be started: ${error instanceof Error ? error.message : error}`,
      };
  }
}

/** A script that is there but "not found" names an interpreter that is not. */
function missing(program: string): string {
  const head = program.startsWith("/") ? headOf(program) : undefined;
  if (head === undefined || !head.startsWith("#!")) return `${program} was not found`;
  const [line = ""] = head.slice(2).split("\n");
  const advice = line.endsWith("\r") ? "; the line ends with a carriage return: save the file with Unix line ends" : "";
  return `the interpreter in the first line of ${program}, ${JSON.stringify(line.trim())}, was not found${advice}`;
}

/** The beginning of a regular file; undefined for anything else. */
function headOf(path: string): string | undefined {
  let file: number | undefined;
  try {
    if (!statOf(path)?.isFile()) return undefined; // opening a pipe would wait for its writer
    file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const buffer = Buffer.alloc(256);
    return buffer.toString("latin1", 0, readSync(file, buffer));
  } catch {
    return undefined;
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

function isExecutable(path: string): boolean {
  if (!statOf(path)?.isFile()) return false;
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Undefined for what is not there or cannot be reached; an exception for each miss would be slow. */
function statOf(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}
