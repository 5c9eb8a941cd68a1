import type { Environment } from "../environment.ts";
import { CliError } from "../errors.ts";
import { type ExitCode, exitCodes } from "../exit-codes.ts";
import { type Finding, lint } from "../lint/lint.ts";
import { findingLines, ordered } from "../lint/report.ts";
import { judge } from "../lint/server.ts";
import type { Manifest } from "../manifests/manifest.ts";
import { parseFiles } from "../manifests/read.ts";
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
  const files = await parseFiles(paths, namespace, env.files);
  const broken = files.problems.map((problem): Finding => ({ ...problem, severity: "error" }));
  const server = judge(env.clock, env.random);
  try {
    const findings = ordered([...broken, ...(await lint(files.manifests, server.client))]);
    return show(findings, files.manifests, output === "json", env);
  } finally {
    server.close();
  }
}

function show(
  findings: readonly Finding[],
  manifests: readonly Manifest[],
  asData: boolean,
  env: Environment,
): ExitCode {
  const errors = findings.filter(({ severity }) => severity === "error").length;
  const warnings = findings.length - errors;
  if (asData) env.out.write(`${JSON.stringify({ errors, warnings, findings }, null, 2)}\n`);
  else {
    const line = (file: string, number: number) => manifests.find((one) => one.file === file)?.line(number) ?? "";
    for (const finding of findings) env.out.write(`${findingLines(finding, line).join("\n")}\n`);
    const counts = [count(errors, "error"), count(warnings, "warning")].filter((text) => text !== "");
    env.err.write(
      `${count(manifests.length, "object") || "no objects"}: ${counts.join(", ") || "nothing to complain about"}\n`,
    );
  }
  return errors > 0 ? exitCodes.usage : exitCodes.succeeded;
}

const count = (n: number, noun: string) => (n === 0 ? "" : `${n} ${noun}${n === 1 ? "" : "s"}`);
