import { CommanderError } from "commander";
import type { Environment } from "./environment.ts";
import { CliError, errorLines } from "./errors.ts";
import { type ExitCode, exitCodes } from "./exit-codes.ts";
import { formatProblems, ManifestError } from "./manifests/problem.ts";
import { createProgram } from "./program.ts";
import { systemEnvironment } from "./system/environment.ts";

/**
 * `krt`.
 *
 * @param argv arguments behind the name of the program
 * @returns the exit code; nothing that was started is left when it resolves
 */
export function main(argv: readonly string[]): Promise<ExitCode> {
  return runCommand(argv, systemEnvironment());
}

/** The same, in any environment. */
export async function runCommand(argv: readonly string[], env: Environment): Promise<ExitCode> {
  let code: ExitCode = exitCodes.succeeded;
  try {
    await createProgram(env, (ended) => {
      code = ended;
    }).parseAsync(argv, { from: "user" });
    return code;
  } catch (error) {
    return report(error, env);
  }
}

function report(error: unknown, env: Environment): ExitCode {
  // Commander has said what there is to say; help and version are no errors.
  if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.succeeded : exitCodes.usage;
  if (error instanceof ManifestError) {
    const lines = formatProblems(error.problems);
    const count = lines.length === 1 ? "1 problem" : `${lines.length} problems`;
    env.err.write([...lines, `krt: ${count} in the manifests; nothing was run`].map((line) => `${line}\n`).join(""));
    return exitCodes.usage;
  }
  if (error instanceof CliError) {
    env.err.write(`${errorLines(error).join("\n")}\n`);
    return error.exitCode;
  }
  const stack = error instanceof Error ? (error.stack ?? error.message) : String(error);
  env.err.write(`krt: this is a fault of krt, not of your files: ${stack}\n`);
  return exitCodes.platform;
}
