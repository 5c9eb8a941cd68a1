import type { Span } from "../expressions/template.ts";
import { type LostTrack, type Placement, placed } from "./placement.ts";
import { ShellReader } from "./shell-reader.ts";

/**
 * Places expressions in a script for bash or a POSIX shell. A value stands for exactly one word or a part of one, however the
 * place is quoted: it is never split, expanded, calculated or run.
 *
 * | place | becomes |
 * | --- | --- |
 * | unquoted | `"${V}"` |
 * | in double quotes, in a here-document | `${V}` |
 * | in single quotes | the quotes are closed and opened again: `'"${V}"'` |
 * | in a comment | `${V}` |
 * | in a here-document with quoted delimiter, arithmetic, an array index, `${...}`, backticks | refused |
 * | as the command, a name of a variable, or code for `eval`, another shell or an interpreter | refused |
 *
 * The text of the script does not depend on any value, so what is read wrongly here can spoil a word, but never make code of a value.
 * Texts that other programs read as their own small language (`sed`, `awk`) are the author's.
 */
export function placeInShell(
  text: string,
  spans: readonly Span[],
  dialect: "bash" | "sh",
): readonly Placement[] | LostTrack {
  const reader = new ShellReader(text, spans, dialect);
  return placed(reader, () => reader.readScript());
}
