import { parseArgs } from "node:util";
import type { InterpreterName } from "./interpreter.ts";
import { runExecutor } from "./main.ts";

const interpreters: ReadonlySet<string> = new Set<InterpreterName>(["bash", "python", "node"]);

/** `kruntimes executor --socket=PATH (--interpreter=NAME | --command=ARG...)`: the process in the container `runtime`. */
export async function main(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      socket: { type: "string" },
      interpreter: { type: "string" },
      command: { type: "string", multiple: true },
    },
  });
  const { socket: socketPath, interpreter = "bash", command } = values;
  if (socketPath === undefined) throw new Error("kruntimes executor: --socket is missing");
  if (command !== undefined) return runExecutor({ socketPath, command });
  if (!isInterpreter(interpreter)) {
    throw new Error(`kruntimes executor: --interpreter is ${interpreter}; use ${[...interpreters].join(", ")}`);
  }
  return runExecutor({ socketPath, interpreter });
}

const isInterpreter = (name: string): name is InterpreterName => interpreters.has(name);
