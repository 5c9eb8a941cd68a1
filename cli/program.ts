import { Command } from "commander";
import { addArtifact } from "./commands/artifact.ts";
import { addCancel } from "./commands/cancel.ts";
import { refuseOthers } from "./commands/command.ts";
import { addCompletion } from "./commands/completion.ts";
import { addDelete } from "./commands/delete.ts";
import { addDescribe } from "./commands/describe.ts";
import { addExplain } from "./commands/explain.ts";
import { addGet } from "./commands/get.ts";
import { addList } from "./commands/list.ts";
import { addLogs } from "./commands/logs.ts";
import { addRun } from "./commands/run.ts";
import { addRuntime } from "./commands/runtime.ts";
import { addVersion } from "./commands/version.ts";
import { addWait } from "./commands/wait.ts";
import { addWorkflow } from "./commands/workflow.ts";
import type { Environment } from "./environment.ts";
import { type ExitCode, exitCodeMeanings } from "./exit-codes.ts";
import { addDown } from "./local/down.ts";
import { addPod } from "./local/pod.ts";
import { addReset } from "./local/reset.ts";
import { addRun as addLocalRun } from "./local/run.ts";
import { addStatus } from "./local/status.ts";
import { addUp } from "./local/up.ts";

const exitCodeHelp = `
Exit codes:
${exitCodeMeanings.map(([code, meaning]) => `  ${String(code).padStart(3)}  ${meaning}`).join("\n")}`;

/** In the order of the help. */
const commands = [
  addRun,
  addList,
  addGet,
  addDescribe,
  addLogs,
  addWait,
  addCancel,
  addDelete,
  addWorkflow,
  addRuntime,
  addArtifact,
  addExplain,
  addCompletion,
  addVersion,
];

const actions = ["suspend", "resume", "stop", "terminate", "retry"];

/** What people who know other tools look for, and where it is. */
const elsewhere: Readonly<Record<string, string>> = {
  apply: "Write kubectl apply -f FILE; krt workflow run -f FILE runs what a file holds.",
  create: "Write kubectl create -f FILE; krt workflow run -f FILE runs what a file holds.",
  exec: "Write krt run -- COMMAND: every command is a Run of its own.",
  ps: "Write krt list.",
  watch: "Write krt workflow watch NAME, krt logs -f NAME or krt wait NAME.",
  events: "krt describe NAME shows the Events of a Run.",
  lint: "Write krt workflow lint FILE.",
  up: "Write krt local up.",
  down: "Write krt local down.",
  status: "Write krt list, krt workflow list or krt local status.",
  ...Object.fromEntries(actions.map((word) => [word, `Write krt workflow ${word} NAME; a Run has krt cancel NAME.`])),
};

/**
 * The commands of `krt`. Each has a file of its own, which adds it to its parent.
 *
 * @param end called with the exit code of the command that was run
 */
export function createProgram(env: Environment, end: (code: ExitCode) => void): Command {
  const program = new Command(env.invokedAs)
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
    .enablePositionalOptions()
    .exitOverride();
  program.addHelpText("after", exitCodeHelp);
  program.showHelpAfterError(`     See ${env.invokedAs} --help.`);
  for (const add of commands) add(program, env, end);
  refuseOthers(program, env, "", elsewhere);
  const local = program.command("local").description("a cluster on this machine, in one process");
  local.showHelpAfterError(`     See ${env.invokedAs} local --help.`);
  for (const add of [addLocalRun, addUp, addDown, addStatus, addPod, addReset]) add(local, env, end);
  refuseOthers(local, env, "local", {});
  return program;
}
