import type { Command } from "commander";
import type { ClusterFlags } from "../cluster/options.ts";

/** What a word may be. `file` is left to the shell; `free` is what nobody can know. */
export type WordKind =
  | "run"
  | "workflow"
  | "workflowRun"
  | "runOrWorkflowRun"
  | "runtime"
  | "pod"
  | "namespace"
  | "context"
  | "reason"
  | "shell"
  | "format"
  | "runPhase"
  | "workflowRunPhase"
  | "file"
  | "free";

/** What the arguments of commands are, by the words of the command; the last one of a list stands for all that follow. */
export const argumentKinds: Readonly<Record<string, readonly WordKind[]>> = {
  run: ["free"],
  get: ["run"],
  describe: ["run"],
  logs: ["run"],
  wait: ["run"],
  cancel: ["run"],
  delete: ["run"],
  "workflow run": ["workflow"],
  "workflow get": ["workflowRun"],
  "workflow watch": ["workflowRun"],
  "workflow suspend": ["workflowRun"],
  "workflow resume": ["workflowRun"],
  "workflow stop": ["workflowRun"],
  "workflow terminate": ["workflowRun"],
  "workflow retry": ["workflowRun"],
  "runtime get": ["runtime"],
  "artifact list": ["runOrWorkflowRun"],
  "artifact download": ["runOrWorkflowRun", "free"],
  explain: ["reason"],
  completion: ["shell"],
  "local run": ["file"],
  "workflow lint": ["file"],
  "local pod kill": ["pod"],
};

/** What the values of flags are; those that are not here are free. */
const flagKinds: Readonly<Record<string, WordKind>> = {
  "--namespace": "namespace",
  "--context": "context",
  "--kubeconfig": "file",
  "--runtime": "runtime",
  "--workflow": "workflow",
  "--output": "format",
  "--file": "file",
  "--filename": "file",
  "--to": "file",
  "--state-dir": "file",
};

/** What may stand behind some words. */
export interface Next {
  /** Names of commands and flags. */
  readonly words: readonly string[];
  /** What else, if anything. */
  readonly kind: WordKind | undefined;
  /** Words that stand there already and do not come again. */
  readonly taken: readonly string[];
  /** Which cluster the words choose. */
  readonly cluster: ClusterFlags & { readonly stateDir?: string };
}

/** Reads the words before the one that is completed. Pure. */
export function nextOf(program: Command, before: readonly string[]): Next {
  let command = program;
  const path: string[] = [];
  const args: string[] = [];
  const flags = new Map<string, string>();
  const seen = new Set<string>();
  for (let at = 0; at < before.length; at++) {
    const word = before[at] ?? "";
    // What follows is the program's that is run.
    if (word === "--") return { words: [], kind: "file", taken: [], cluster: clusterOf(flags) };
    if (word.startsWith("-")) {
      const [name = "", inline] = word.split("=", 2);
      const option = command.options.find(({ short, long }) => short === name || long === name);
      const long = option?.long ?? name;
      seen.add(long);
      if (option === undefined || inline !== undefined || !(option.required || option.optional)) {
        if (inline !== undefined) flags.set(long, inline);
        continue;
      }
      const value = before[++at];
      if (value === undefined) return afterFlag(long, path, clusterOf(flags));
      flags.set(long, value);
      continue;
    }
    const next = args.length > 0 ? undefined : subcommand(command, word);
    if (next === undefined) {
      args.push(word);
      continue;
    }
    command = next;
    path.push(next.name());
  }
  const kinds = argumentKinds[path.join(" ")] ?? [];
  const isList = command.registeredArguments.at(-1)?.variadic === true;
  const kind = kinds[args.length] ?? (isList ? kinds.at(-1) : undefined);
  const names =
    args.length > 0 ? [] : command.commands.map((one) => one.name()).filter((name) => !name.startsWith("_"));
  const more = command.options.flatMap(({ long, variadic }) =>
    long == null || (seen.has(long) && !variadic) ? [] : [long],
  );
  return { words: [...names, ...more], kind, taken: args, cluster: clusterOf(flags) };
}

const subcommand = (command: Command, word: string) =>
  command.commands.find((one) => one.name() === word || one.aliases().includes(word));

function afterFlag(flag: string, path: readonly string[], cluster: Next["cluster"]): Next {
  const phase = path[0] === "workflow" ? "workflowRunPhase" : "runPhase";
  return { words: [], kind: flag === "--phase" ? phase : (flagKinds[flag] ?? "free"), taken: [], cluster };
}

function clusterOf(flags: ReadonlyMap<string, string>): Next["cluster"] {
  const given = { namespace: "--namespace", context: "--context", kubeconfig: "--kubeconfig", stateDir: "--state-dir" };
  return Object.fromEntries(
    Object.entries(given).flatMap(([key, flag]) => (flags.has(flag) ? [[key, flags.get(flag) ?? ""]] : [])),
  );
}
