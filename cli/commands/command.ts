import { type Command, InvalidArgumentError } from "commander";
import { maxDurationMs, parseDuration } from "#api/duration.ts";
import { suggestion } from "../closest.ts";
import type { Environment } from "../environment.ts";
import { CliError } from "../errors.ts";
import type { ExitCode } from "../exit-codes.ts";

/** Adds a command to its parent. `end` is called with the exit code when it was run. */
export type AddCommand = (parent: Command, env: Environment, end: (code: ExitCode) => void) => void;

/**
 * Adds examples to the help of a command, with the name under which `krt` was called, and tells after mistakes where that help is.
 *
 * @param path words of the command, e.g. `local up`
 * @param examples pairs of what it does and the command line without the name
 */
export function withExamples(
  command: Command,
  { invokedAs }: Pick<Environment, "invokedAs">,
  path: string,
  examples: readonly (readonly [what: string, line: string])[],
): Command {
  const text = examples.map(([what, line]) => `  ${what}:\n    ${invokedAs} ${line}`).join("\n\n");
  return command
    .addHelpText("after", `\nExamples:\n${text}`)
    .showHelpAfterError(`     See ${invokedAs} ${path} --help.`);
}

/**
 * Tells of a command that is not there where another one is meant.
 *
 * @param path words before it; empty for those of `krt` itself
 * @param elsewhere advice about words that people try
 */
export function refuseOthers(
  command: Command,
  { invokedAs }: Pick<Environment, "invokedAs">,
  path: string,
  elsewhere: Readonly<Record<string, string>>,
): void {
  command.on("command:*", ([word = ""]: string[]) => {
    const here = command.commands.flatMap((one) => (one.name().startsWith("_") ? [] : [one.name(), ...one.aliases()]));
    const known = Object.hasOwn(elsewhere, word) ? elsewhere[word] : suggestion(word, here);
    const words = [path, word].filter(Boolean).join(" ");
    const help = [invokedAs, path, "--help"].filter(Boolean).join(" ");
    throw new CliError(`there is no command ${words}`, { advice: known ?? `See ${help}.` });
  });
}

/** Reads a duration such as `90s` as milliseconds. */
export function duration(text: string): number {
  const ms = parseDuration(text);
  if (ms === undefined || ms <= 0 || ms > maxDurationMs) {
    throw new InvalidArgumentError("Write a duration such as 90s, 5m or 1h.");
  }
  return ms;
}

/** Reads a whole number within bounds. */
export const wholeNumber =
  (least: number, most = Number.MAX_SAFE_INTEGER) =>
  (text: string): number => {
    const value = Number(text);
    if (!/^\d+$/.test(text) || value < least || value > most) {
      const bounds = most === Number.MAX_SAFE_INTEGER ? `${least} on` : `${least} to ${most}`;
      throw new InvalidArgumentError(`Write a whole number from ${bounds}.`);
    }
    return value;
  };

/** Collects an option that may be given several times. */
export const collected = (value: string, before: readonly string[] = []): string[] => [...before, value];

/** Reads `KEY=VALUE`, given several times, into a record. */
export function pairs(text: string, before: Readonly<Record<string, string>> = {}): Record<string, string> {
  const at = text.indexOf("=");
  if (at < 1) throw new InvalidArgumentError("Write KEY=VALUE.");
  const key = text.slice(0, at);
  if (Object.hasOwn(before, key)) throw new InvalidArgumentError(`${key} has a value already; give it once.`);
  return { ...before, [key]: text.slice(at + 1) };
}
