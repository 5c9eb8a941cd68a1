/** Adapter: programs that are data as scripts for a POSIX shell, so that one description runs on simulated and real executors. */
import { mkdirSync, writeFileSync } from "node:fs";
import { type SimulatedProgram, stepsOf } from "#runtime/simulated-program.ts";

/**
 * Writes the script and its data below `directory` and returns the path of the script. Start failures are not for scripts:
 * the caller gives a command that does not exist.
 */
export function writeShellProgram(directory: string, program: SimulatedProgram): string {
  mkdirSync(directory, { recursive: true });
  const lines = [trapFor(program)];
  let now = 0;
  const until = (atMs: number) => {
    if (atMs > now)
      lines.push(program.onSigterm === undefined ? `sleep ${(atMs - now) / 1000}` : slicedSleep(atMs - now));
    now = Math.max(now, atMs);
  };
  for (const [index, step] of stepsOf(program).entries()) {
    until(step.atMs);
    const data = `${directory}/data-${index}`;
    writeFileSync(data, step.kind === "file" ? step.content : step.data);
    if (step.kind === "file") lines.push(`cat ${data} > ${quotedTarget(step.path)}`);
    else lines.push(`cat ${data}${step.stream === "stderr" ? " >&2" : ""}`);
  }
  until(program.durationMs);
  lines.push(program.signal === undefined ? `exit ${program.exitCode ?? 0}` : `kill -${program.signal.slice(3)} $$`);
  const script = `${directory}/script`;
  writeFileSync(script, `${lines.join("\n")}\n`);
  return script;
}

const sliceMs = 100;

/**
 * A signal that comes just before the shell starts a program is handled only when that program has ended (and the program,
 * being too young, may not have got the signal itself). So a script that handles signals waits in slices.
 */
function slicedSleep(ms: number): string {
  const slices = Math.floor(ms / sliceMs);
  const loop = `slice=0; while [ $slice -lt ${slices} ]; do sleep ${sliceMs / 1000}; slice=$((slice + 1)); done`;
  return `${loop}; sleep ${(ms % sliceMs) / 1000}`;
}

function trapFor({ onSigterm = "dies" }: SimulatedProgram): string {
  if (onSigterm === "dies") return ":";
  if (onSigterm === "ignores") return "trap '' TERM";
  return `trap 'sleep ${onSigterm.afterMs / 1000}; exit ${onSigterm.exitCode}' TERM`;
}

/** A variable at the beginning is the shell's to expand, the rest is literal. */
function quotedTarget(path: string): string {
  const [, variable = "", rest = ""] = /^(\$\w+)?(.*)$/.exec(path) ?? [];
  return `"${variable}"'${rest.replaceAll("'", "'\\''")}'`;
}
