/** `kruntimes executor`: flags to options. */
import { parseArgs } from "node:util";
import { type ExecutorOptions, runExecutor } from "#runtime/executor/main.ts";
import { containerEnvironment } from "#runtime/injector/kept-variables.ts";

const interpreters = ["bash", "python", "node"] as const;

/** Runs until the process is told to end. */
export async function main(args: readonly string[]): Promise<void> {
  await runExecutor({ ...parseFlags(args), containerEnv: containerEnvironment(process.env) });
}

/**
 * `--socket=PATH` and either `--interpreter=bash|python|node` or `--command=WORD` for each word of the command prefix.
 *
 * @throws with the flag at fault and what it takes.
 */
export function parseFlags(args: readonly string[]): ExecutorOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      socket: { type: "string" },
      interpreter: { type: "string" },
      command: { type: "string", multiple: true },
    },
  });
  const { socket: socketPath, interpreter: name, command } = values;
  if (socketPath === undefined || socketPath === "") throw new Error("kruntimes executor: --socket=PATH is missing");
  if (command !== undefined && name !== undefined) {
    throw new Error("kruntimes executor: give --interpreter or --command, not both");
  }
  if (command !== undefined) return { socketPath, command };
  const interpreter = interpreters.find((known) => known === name);
  if (interpreter === undefined) {
    const given = name === undefined ? "--interpreter or --command is missing" : `unknown --interpreter=${name}`;
    throw new Error(`kruntimes executor: ${given}; interpreters are ${interpreters.join(", ")}`);
  }
  return { socketPath, interpreter };
}
