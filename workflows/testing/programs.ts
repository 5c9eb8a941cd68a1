import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "vitest";
import { formatErrors } from "../field-error.ts";
import { compileScript } from "../script/compile-script.ts";
import type { Language } from "../script/language.ts";
import { templateOf } from "./templates.ts";

/** Values that become code, several words, options or other files wherever a shell, Python or JavaScript reads them as text. */
export const hostileValues: readonly string[] = [
  "",
  "two  words -n -e -- --help",
  "'; touch pwned; '\"; touch pwned; \"",
  "$(touch pwned) `touch pwned` a[$(touch pwned)] \\\\$(touch pwned)\\\\",
  "x\ntouch pwned\nEOF\ntouch pwned; #",
  `* ? [a-z] ~ {a,b} $HOME \${PATH} $$ !! %s %n &\\1 && touch pwned || touch pwned & > pwned | cat`,
  "');require('fs').writeFileSync('pwned','');(' __import__('os').system('touch pwned')",
  `'''\nimport os; os.system('touch pwned')\n''' """ \`\${require('fs').writeFileSync('pwned','')}\` /* */ <!-- --> \\`,
  "-rf --help \u2028touch pwned\u2029 ${{ run.name }} ${{ '$(touch pwned)' }} \u0085\u00a0\ufeff",
  "é 日本 \u{1f600} \t\r",
];

/** All of them in one, for programs that are slow to start. */
export const hostileText: readonly string[] = ["", hostileValues.join("\n")];

/** What a name on PATH stands for; starting the program itself saves what a version manager in front of it costs. */
function pathOf(name: string): string {
  return spawnSync(name, ["-c", "import sys; print(sys.executable)"], { encoding: "utf8" }).stdout.trim() || name;
}

let python: string | undefined;

function programOf(language: Exclude<Language, "other">): string {
  if (language === "node") return process.execPath;
  if (language !== "python") return language;
  python ??= pathOf("python3");
  return python;
}

/** For each value: starts the program on the script with the value in the variable, and ends what it prints with a NUL. */
const driver = `
printf '%s' "$SOURCE" > "$SCRIPT"
for name in $NAMES; do
  KRT_EXPR_1=\${!name} KRT_EXPR_2='second value' "$PROGRAM" "$SCRIPT" || printf 'exit %s' $?
  printf '\\0'
done`;

/** What came of running a source once for each value. */
export interface Ran {
  /** What it printed for each value. */
  readonly printed: readonly string[];
  readonly stderr: string;
  /** Files that it left in its directory. */
  readonly files: readonly string[];
}

/** Runs a source with the real program, once for each value in the variable `KRT_EXPR_1`, in an empty directory. */
export function runSource(language: Exclude<Language, "other">, source: string, values: readonly string[]): Ran {
  const directory = mkdtempSync(join(tmpdir(), "krt-script-"));
  try {
    const { stdout, stderr } = spawnSync("bash", ["--norc", "-c", driver], {
      cwd: directory,
      encoding: "utf8",
      // A socket as standard input would make bash believe that it was started over the network.
      stdio: ["ignore", "pipe", "pipe"],
      env: {
        PATH: process.env.PATH,
        LC_ALL: "C.UTF-8",
        PROGRAM: programOf(language),
        SOURCE: source,
        SCRIPT: `${directory}.script`,
        NAMES: values.map((_, index) => `VALUE_${index}`).join(" "),
        ...Object.fromEntries(values.map((value, index) => [`VALUE_${index}`, value])),
      },
    });
    return { printed: stdout.split("\0").slice(0, -1), stderr, files: readdirSync(directory) };
  } finally {
    rmSync(directory, { recursive: true, force: true });
    rmSync(`${directory}.script`, { force: true });
  }
}

/** Compiles a script (`@` is the value) and runs it with every hostile value: it prints what `want` makes of it, and does no harm. */
export function expectPrinted(
  language: Exclude<Language, "other">,
  text: string,
  want: (value: string) => string,
  values = hostileValues,
): void {
  const result = compileScript(templateOf(text), language, "run");
  if (!result.ok) throw new Error(formatErrors(result.errors));
  const ran = runSource(language, result.script.source, values);
  expect(ran).toEqual({ printed: values.map(want), stderr: "", files: [] });
}

/** Why the script is refused: the messages. */
export function refusals(language: Language, text: string): string[] {
  const result = compileScript(templateOf(text), language, "run");
  return result.ok ? [] : result.errors.map((error) => error.message);
}
