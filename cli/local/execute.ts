import type { Environment, LogFile } from "../environment.ts";
import { CliError, errorLines } from "../errors.ts";
import { type ExitCode, exitCodes } from "../exit-codes.ts";
import { type Given, withInputs } from "../inputs/set-inputs.ts";
import { planOf } from "../manifests/plan.ts";
import { ManifestError } from "../manifests/problem.ts";
import { readManifests } from "../manifests/read.ts";
import type { View } from "../progress/view.ts";
import { clusterLog, keptLines } from "./kept.ts";
import { type RunOptions, runPlan } from "./run-plan.ts";

/** Lines of the cluster's log that are shown when it fails. */
const logTail = 20;

/**
 * Runs what files hold in a cluster that lives as long as it takes, in a directory of its own.
 *
 * @throws ManifestError and CliError for what people can put right.
 */
export async function execute(
  paths: readonly string[],
  options: RunOptions & {
    readonly namespace: string | undefined;
    readonly keep: boolean;
    readonly verbose: boolean;
    /** Inputs of the Workflows. */
    readonly set: Given;
  },
  env: Environment,
): Promise<ExitCode> {
  const plan = withInputs(planOf(await readManifests(paths, options.namespace, env.files)), options.set);
  const directory = await env.stateDirectories.make();
  const staying = options.keep ? () => {} : env.stateDirectories.removeOnAbruptExit(directory);
  const log = await env.openLogFile(clusterLog(directory), options.verbose);
  let view: View | undefined;
  try {
    const result = await runPlan(plan, directory, options, env, log.logger);
    view = result.view;
    if (result.problem !== undefined) env.err.write(lines(errorLines(result.problem)));
    return result.code;
  } catch (error) {
    throw error instanceof CliError || error instanceof ManifestError ? error : platformError(error, log);
  } finally {
    log.close();
    if (options.keep) env.out.write(lines(keptLines(directory, view)));
    else await env.stateDirectories.remove(directory);
    staying();
  }
}

const lines = (texts: readonly string[]) => texts.map((text) => `${text}\n`).join("");

function platformError(error: unknown, log: LogFile): CliError {
  const why = error instanceof Error ? error.message : String(error);
  return new CliError(`the local cluster failed: ${why}`, {
    details: log.tail(logTail),
    advice: "This is no fault of your files. Run it again with --keep --verbose to see more.",
    exitCode: exitCodes.platform,
    cause: error,
  });
}
