import type { Command } from "commander";

export interface StateFlags {
  readonly stateDir?: string;
}

/** Adds the flag that tells local clusters apart. */
export function withStateOption(command: Command): Command {
  return command.option("--state-dir <directory>", "where the cluster keeps everything (default: ~/.local/state/krt)");
}
