import { tooLong } from "#api/validation/rule.ts";
import type { Expression, Template } from "../expressions/compile.ts";
import { located } from "../expressions/position.ts";
import type { FieldError } from "../field-error.ts";
import type { Shell } from "../plan.ts";
import type { Language } from "./language.ts";
import { placeInNode } from "./node.ts";
import { LostTrack, type Placement, type Placer } from "./placement.ts";
import { placeInPython } from "./python.ts";
import { placeInShell } from "./shell.ts";

/**
 * A script whose text does not depend on any value: each expression became a reference to an environment variable. So no value
 * can ever become code of the program that reads the script.
 */
export interface Script {
  /** What goes into `source.inline` of the child Run. */
  readonly source: string;
  /** The variables that it refers to, each with the expression that gives its value. */
  readonly variables: readonly { readonly name: string; readonly expression: Expression }[];
  /** The text as the user wrote it, for messages. */
  readonly text: string;
}

export interface ScriptOptions {
  /** Names of variables that the step sets itself. */
  readonly taken?: Iterable<string>;
  /** `shell` of the step, where it is written. */
  readonly shell?: Shell | undefined;
}

export type ScriptResult =
  | { readonly ok: true; readonly script: Script }
  | { readonly ok: false; readonly errors: readonly FieldError[] };

/** Most characters of `source.inline` of a Run (as in its schema). */
const maxSource = 262_144;

const placers: Readonly<Record<Exclude<Language, "other">, Placer>> = {
  bash: (text, spans) => placeInShell(text, spans, "bash"),
  sh: (text, spans) => placeInShell(text, spans, "sh"),
  python: placeInPython,
  node: placeInNode,
};

/**
 * The script of a step. Scripts for bash and sh end at the first command that fails, as on GitHub (`bash -e`); where the step asks for
 * bash by name, a pipe fails with any of its commands (`bash -eo pipefail`).
 *
 * @param path of the field, e.g. `spec.jobs.build.steps[0].run`
 */
export function compileScript(
  template: Template,
  language: Language,
  path: string,
  { taken = [], shell }: ScriptOptions = {},
): ScriptResult {
  const { text, expressions } = template;
  const replaced =
    expressions.length === 0
      ? { ok: true as const, source: text, variables: [] }
      : replace(template, language, path, taken);
  if (!replaced.ok) return replaced;
  const options = shell === "bash" ? "-eo pipefail" : "-e";
  const source = language === "bash" || language === "sh" ? stopAtFailure(replaced.source, options) : replaced.source;
  if (source.length > maxSource) {
    const message = `the script has ${source.length} characters with its variables, more than ${maxSource}`;
    const advice = "Move a part of it into a file, for example into a Git repository that the step checks out.";
    return { ok: false, errors: [tooLong(path, message, advice)] };
  }
  return { ok: true, script: { source, variables: replaced.variables, text } };
}

const unknown = {
  message: "expressions cannot be used in this script: nobody knows how the program of the Runtime reads it",
  advice:
    "Begin the script with #!/bin/bash, #!/usr/bin/env python3 or the like, or use a Runtime with an interpreter.",
};

function replace(template: Template, language: Language, path: string, taken: Iterable<string>) {
  const { text, expressions } = template;
  if (language === "other")
    return { ok: false as const, errors: [located(path, text, expressions[0]?.start ?? 0, unknown)] };
  const placements = placers[language](text, expressions);
  if (placements instanceof LostTrack) {
    return { ok: false as const, errors: [located(path, text, placements.offset, placements)] };
  }
  const errors = expressions.flatMap(({ start }, index) => {
    const placement = placements[index];
    return placement !== undefined && "message" in placement ? [located(path, text, start, placement)] : [];
  });
  if (errors.length > 0) return { ok: false as const, errors };
  return { ok: true as const, ...substitute(text, expressions, placements, namePrefix(text, taken)) };
}

function substitute(
  text: string,
  expressions: readonly Expression[],
  placements: readonly Placement[],
  prefix: string,
) {
  const variables: { name: string; expression: Expression }[] = [];
  const names = new Map<string, string>();
  let source = "";
  let from = 0;
  for (const [index, expression] of expressions.entries()) {
    // The same expression has the same value everywhere in the script: one variable is enough.
    const key = expression.source.trim();
    const name = names.get(key) ?? `${prefix}${names.size + 1}`;
    if (!names.has(key)) {
      names.set(key, name);
      variables.push({ name, expression });
    }
    const placement = placements[index];
    if (placement === undefined || "message" in placement) throw new Error("errors were returned before");
    source += text.slice(from, expression.start) + placement.write(name);
    from = expression.end;
  }
  return { source: source + text.slice(from), variables };
}

/** `KRT_EXPR_`, made longer until neither the script nor the step's own variables have such a name. */
function namePrefix(text: string, taken: Iterable<string>): string {
  const names = [...taken];
  let prefix = "KRT_EXPR_";
  for (let n = 2; text.includes(prefix) || names.some((name) => name.startsWith(prefix)); n++) prefix = `KRT_EXPR${n}_`;
  return prefix;
}

/** On the line that is there already, so that line numbers in messages of the shell stay those of the user's text. */
function stopAtFailure(source: string, options: string): string {
  const lineEnd = source.indexOf("\n");
  if (!source.startsWith("#!")) return `set ${options}; ${source}`;
  return lineEnd < 0 ? source : `${source.slice(0, lineEnd + 1)}set ${options}; ${source.slice(lineEnd + 1)}`;
}
