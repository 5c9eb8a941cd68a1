import type { RuntimeSpec } from "#api/kinds/runtime.ts";

/** What reads a script. `other` is any program whose syntax we do not know. */
export type Language = "bash" | "sh" | "python" | "node" | "other";

const programs: ReadonlyMap<string, Language> = new Map<string, Language>([
  ["bash", "bash"],
  ["sh", "sh"],
  ["dash", "sh"],
  ["ash", "sh"],
  ["python", "python"],
  ["node", "node"],
  ["nodejs", "node"],
]);

/** The language that the first line `#!...` of a script asks for; `undefined` without such a line. */
export function shebangLanguage(text: string): Language | undefined {
  if (!text.startsWith("#!")) return undefined;
  const words = (text.slice(2).split("\n", 1)[0] ?? "").trim().split(/\s+/);
  const first = baseName(words[0] ?? "");
  // `env [-S] [NAME=value]... program`
  const program =
    first === "env"
      ? baseName(words.slice(1).find((word) => !word.startsWith("-") && !word.includes("=")) ?? "")
      : first;
  return programs.get(program.replace(/[0-9.]+$/, "")) ?? "other";
}

/** The language of the scripts of a Runtime that have no `#!` line: its interpreter, bash when the built-in executor runs them. */
export function runtimeLanguage(spec: Pick<RuntimeSpec, "server">): Language {
  const { type = "Injected", interpreter, command } = spec.server ?? {};
  if (interpreter !== undefined) return interpreter;
  return command === undefined && type === "Injected" ? "bash" : "other";
}

/** The language of a script on a Runtime; `undefined` while the Runtime is not known and the script does not say. */
export function languageOf(text: string, runtime: Language | undefined): Language | undefined {
  return shebangLanguage(text) ?? runtime;
}

function baseName(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}
