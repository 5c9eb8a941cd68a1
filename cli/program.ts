import { Command } from "commander";
import type { Environment } from "./environment.ts";
import { type ExitCode, exitCodeMeanings } from "./exit-codes.ts";
import { addRun } from "./local/run.ts";

const exitCodeHelp = `
Exit codes:
${exitCodeMeanings.map(([code, meaning]) => `  ${String(code).padStart(3)}  ${meaning}`).join("\n")}`;

/**
 * The commands of `krt`. Each has a file of its own, which adds it to its parent.
 *
 * @param end called with the exit code of the command that was run
 */
export function createProgram(env: Environment, end: (code: ExitCode) => void): Command {
  const program = new Command("krt")
    .description("Runs short executions and workflows on warm Pods.")
    .version(env.version, "--version", "show the version")
    .helpOption("-h, --help", "show help")
    .configureOutput({
      writeOut: (text) => env.out.write(text),
      writeErr: (text) => env.err.write(text),
      outputError: (text, write) => write(text.replace(/^error: /, "krt: ")),
      getOutHelpWidth: () => env.out.columns(),
      getErrHelpWidth: () => env.err.columns(),
      getOutHasColors: () => env.out.color,
      getErrHasColors: () => env.err.color,
    })
    .exitOverride();
  program.addHelpText("after", exitCodeHelp);
  program.showHelpAfterError("     See krt --help.");
  const local = program.command("local").description("a cluster on this machine, in one process");
  local.showHelpAfterError("     See krt local --help.");
  addRun(local, env, end);
  return program;
}
