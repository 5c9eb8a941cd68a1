import { type Reason, reasonGroups, reasons } from "#api/reasons.ts";
import { suggestion } from "../closest.ts";
import { CliError } from "../errors.ts";
import { exitCodes } from "../exit-codes.ts";
import { type AddCommand, withExamples } from "./command.ts";

/** `krt explain REASON` */
export const addExplain: AddCommand = (parent, env, end) => {
  const command = parent
    .command("explain")
    .summary("tell what a reason means, and what to do about it")
    .description(
      "Tells what a reason in the status of an object means, and what to do about it; without one it lists all.",
    )
    .argument("[REASON]", "a reason, e.g. NoReadyPods")
    .action((name: string | undefined) => {
      const lines = name === undefined ? listLines() : explainLines(name);
      env.out.write(lines.map((line) => `${line}\n`).join(""));
      end(exitCodes.succeeded);
    });
  withExamples(command, env, "explain", [["Why does it wait?", "explain InsufficientCapacity"]]);
};

/** Title, meaning, advice. Case does not count. @throws CliError for a reason that does not exist */
export function explainLines(name: string): string[] {
  const names = Object.keys(reasons) as Reason[];
  const found = names.find((one) => one.toLowerCase() === name.toLowerCase());
  if (found === undefined) {
    throw new CliError(`there is no reason ${name}`, {
      advice: suggestion(name, names) ?? "Without a name all reasons are listed.",
    });
  }
  const { meaning, advice } = reasons[found];
  const groups = reasonGroups.filter((group) => group.reasons.includes(found)).map(({ title }) => title);
  return [`${found} (${groups.join("; ")})`, `  ${meaning}`, `  ${advice}`];
}

const listLines = (): string[] =>
  reasonGroups.flatMap(({ title, reasons: names }, index) => [
    ...(index === 0 ? [] : [""]),
    `${title}:`,
    ...names.map((name) => `  ${name}`),
  ]);
