import type { Environment } from "../environment.ts";
import { parseFiles } from "../manifests/read.ts";
import { type Finding, lint } from "./lint.ts";
import { ordered } from "./report.ts";
import { judge } from "./server.ts";

export interface Linted {
  /** In the order in which a reader meets them. */
  readonly findings: readonly Finding[];
  /** Objects that could be read. */
  readonly objects: number;
  /** A line of a file, from 1; empty where nobody knows it. */
  line(file: string, number: number): string;
}

/**
 * Reads files and judges what they hold.
 * @throws CliError when a file cannot be read
 */
export async function lintFiles(
  paths: readonly string[],
  namespace: string | undefined,
  { files, clock, random }: Pick<Environment, "files" | "clock" | "random">,
): Promise<Linted> {
  const { manifests, problems } = await parseFiles(paths, namespace, files);
  const broken = problems.map((problem): Finding => ({ ...problem, severity: "error" }));
  const server = judge(clock, random);
  try {
    const findings = ordered([...broken, ...(await lint(manifests, server.client))]);
    const line = (file: string, number: number) => manifests.find((one) => one.file === file)?.line(number) ?? "";
    return { findings, objects: manifests.length, line };
  } finally {
    server.close();
  }
}
