import type { SimulatedFile, SimulatedOutput, SimulatedProgram } from "#runtime/simulated-program.ts";

/**
 * The scripts of the simulation: what a program does, one command a line, in words that are a valid shell script too, so
 * that workflows can put expressions into them.
 *
 * ```
 * sim lasts 1500            milliseconds
 * sim exits 3               exit code
 * sim fails-until 2         exit code 1 before that attempt
 * sim killed-by SIGKILL     ends by itself with that signal
 * sim ignores-sigterm
 * sim prints TEXT
 * sim output KEY TEXT
 * sim artifact NAME
 * sim file PATH TEXT
 * sim cannot-start
 * ```
 */
export interface Script {
  readonly program: SimulatedProgram;
  /** What the outputs file says when it ends. */
  readonly outputs: Readonly<Record<string, string>>;
  /** Names of the artifacts that it leaves. */
  readonly artifacts: readonly string[];
  /** Files in the working directory, relative path to text. */
  readonly files: Readonly<Record<string, string>>;
}

export interface Attempt {
  readonly runUid: string;
  readonly attempt: number;
}

/** Content of an artifact: tells who made it. */
export const artifactContent = (runUid: string, name: string): string => `artifact ${name} of Run ${runUid}\n`;

/** The arguments of the command, in the order of its lines. */
export function readScript(text: string, env: Readonly<Record<string, string>>, { runUid, attempt }: Attempt): Script {
  const outputs: Record<string, string> = {};
  const files: Record<string, string> = {};
  const artifacts: string[] = [];
  const output: SimulatedOutput[] = [];
  let program: SimulatedProgram = { durationMs: 10 };
  for (const line of text.replace(/^set -e; /, "").split("\n")) {
    const [word, command = "", ...args] = wordsOf(line, env);
    const [first = "", ...rest] = args;
    if (word !== "sim") continue;
    switch (command) {
      case "lasts":
        program = { ...program, durationMs: Number(first) };
        break;
      case "exits":
        program = { ...program, exitCode: Number(first) };
        break;
      case "fails-until":
        if (attempt < Number(first)) program = { ...program, exitCode: 1 };
        break;
      case "killed-by":
        program = { ...program, signal: first };
        break;
      case "ignores-sigterm":
        program = { ...program, onSigterm: "ignores" };
        break;
      case "cannot-start":
        program = { ...program, startFailure: { exitCode: 127, message: "no such command" } };
        break;
      case "prints":
        output.push({ data: `${args.join(" ")}\n` });
        break;
      case "output":
        outputs[first] = rest.join(" ");
        break;
      case "artifact":
        artifacts.push(first);
        break;
      case "file":
        files[first] = rest.join(" ");
        break;
      default:
        throw new Error(`no such command in the simulation: ${line}`);
    }
  }
  const writesFiles: SimulatedFile[] = [
    ...Object.entries(files).map(([path, content]) => ({ path, content })),
    ...artifacts.map((name) => ({ path: `$KRUNTIME_ARTIFACTS_DIR/${name}`, content: artifactContent(runUid, name) })),
  ];
  if (Object.keys(outputs).length > 0) {
    const lines = Object.entries(outputs).map(([key, value]) => `${key}=${value}\n`);
    writesFiles.push({ path: "$KRUNTIME_OUTPUTS", content: lines.join("") });
  }
  return { program: { ...program, writesFiles, output }, outputs, artifacts, files };
}

/** Words of a line, with the variables in double quotes that a workflow puts in place of expressions. */
function wordsOf(line: string, env: Readonly<Record<string, string>>): string[] {
  const replaced = line.trim().replaceAll(/"\$\{(\w+)\}"/g, (_, name: string) => env[name] ?? "");
  return replaced.split(" ");
}
