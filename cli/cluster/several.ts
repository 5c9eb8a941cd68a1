import type { KubeObject } from "#api/meta.ts";
import type { ResourceType } from "#kube/resource.ts";
import type { Environment } from "../environment.ts";
import { CliError, errorLines } from "../errors.ts";
import { type ExitCode, exitCodes } from "../exit-codes.ts";
import { clusterError } from "./errors.ts";
import { bareName } from "./object-name.ts";
import type { Session } from "./session.ts";

/**
 * Does the same for several names. Every one is tried; what fails is told.
 *
 * @param names with or without the kind before them
 * @param work one name; a number it resolves with is its exit code
 * @returns the first exit code that is not 0
 */
export async function forEachName(
  resource: ResourceType<KubeObject>,
  names: readonly string[],
  session: Session,
  work: (name: string) => Promise<ExitCode | undefined>,
): Promise<ExitCode> {
  let code: ExitCode = exitCodes.succeeded;
  for (const name of new Set(names.map((text) => bareName(resource, text)))) {
    const ended = await attempt(name, session, work);
    if (code === exitCodes.succeeded) code = ended;
  }
  return code;
}

async function attempt(
  name: string,
  session: Session,
  work: (name: string) => Promise<ExitCode | undefined>,
): Promise<ExitCode> {
  try {
    return (await work(name)) ?? exitCodes.succeeded;
  } catch (thrown) {
    const error = thrown instanceof CliError ? thrown : await clusterError(thrown, session);
    // What concerns the whole cluster is told once.
    if (!(error instanceof CliError) || error.exitCode === exitCodes.platform) throw error;
    tell(session.env, error);
    return error.exitCode;
  }
}

/** Writes the lines of an error. */
export function tell({ err }: Pick<Environment, "err">, error: CliError): void {
  err.write(
    errorLines(error)
      .map((line) => `${line}\n`)
      .join(""),
  );
}
