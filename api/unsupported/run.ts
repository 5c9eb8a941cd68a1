import { notYet, type Unsupported } from "./entry.ts";

const run = (path: string, advice: string, when?: Unsupported["when"]): Unsupported => ({
  kind: "Run",
  path: `spec.${path}`,
  message: notYet,
  advice,
  ...(when === undefined ? {} : { when }),
});

export const runEntries: readonly Unsupported[] = [
  run("mode.function", "Write a task: mode.task with source.inline."),
  run("mode.session", "Write a task: mode.task with source.inline."),
  run("termination.mode", "Use Immediate.", (value) => value === "Drain"),
  run("source.inlinePath", "Leave it out; it is for functions."),
];
