import type { Environment } from "../environment.ts";
import { CliError } from "../errors.ts";
import { type ExitCode, exitCodes } from "../exit-codes.ts";
import { type AddCommand, withExamples } from "./command.ts";

interface Flags {
  readonly namespace?: string;
  readonly output?: string;
}

/** `krt workflow lint FILE...` */
export const addWorkflowLint: AddCommand = (parent, env, end) => {
  const command = parent
    .command("lint")
    .summary("check Workflows without a cluster")
    .description(
      "Checks files as a cluster would: fields, graphs, expressions, inputs, and what Workflows use as far as the files have it.",
    )
    .argument("<FILE...>", "files, directories or - for standard input")
    .option("-n, --namespace <name>", "namespace of objects that name none")
    .option("-o, --output <format>", "json (default: lines for people and editors)")
    .action(async (paths: string[], flags: Flags) => {
      end(await run(paths, flags, env));
    });
  withExamples(command, env, "workflow lint", [
    ["One file", "workflow lint ci.yaml"],
    ["A directory, for a program", "workflow lint deploy/ -o json"],
  ]);
};

async function run(paths: readonly string[], { namespace, output }: Flags, env: Environment): Promise<ExitCode> {
  if (output !== undefined && output !== "json") {
    throw new CliError(`there is no output format ${output} of lint`, { advice: "Write -o json, or leave it out." });
  }
  const [{ lintFiles }, { findingLines }] = await Promise.all([
    import("../lint/files.ts"),
    import("../lint/report.ts"),
  ]);
  const { findings, objects, line } = await lintFiles(paths, namespace, env);
  const errors = findings.filter(({ severity }) => severity === "error").length;
  const warnings = findings.length - errors;
  if (output === "json") env.out.write(`${JSON.stringify({ errors, warnings, findings }, null, 2)}\n`);
  else {
    for (const finding of findings) env.out.write(`${findingLines(finding, line).join("\n")}\n`);
    const counts = [count(errors, "error"), count(warnings, "warning")].filter((text) => text !== "");
    const sum = counts.join(", ") || "nothing to complain about";
    env.err.write(`${count(objects, "object") || "no objects"}: ${sum}\n`);
  }
  return errors > 0 ? exitCodes.usage : exitCodes.succeeded;
}

const count = (n: number, noun: string) => (n === 0 ? "" : `${n} ${noun}${n === 1 ? "" : "s"}`);
