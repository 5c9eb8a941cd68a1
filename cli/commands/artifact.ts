import { createArtifacts } from "#extension-api/client/artifacts.ts";
import { size } from "#workflows/text.ts";
import { artifactsOf, longName, pickArtifact } from "../cluster/find-artifacts.ts";
import { type ClusterFlags, withClusterOptions } from "../cluster/options.ts";
import { inCluster, type Session } from "../cluster/session.ts";
import { CliError } from "../errors.ts";
import { type ExitCode, exitCodes } from "../exit-codes.ts";
import { tableLines } from "../output/table.ts";
import { type AddCommand, withExamples } from "./command.ts";

interface ListFlags extends ClusterFlags {
  readonly output?: string;
}

interface DownloadFlags extends ClusterFlags {
  readonly to?: string;
  readonly overwrite?: true;
}

/** `krt artifact` */
export const addArtifact: AddCommand = (parent, env, end) => {
  const artifact = parent.command("artifact").description("list and download what Runs and WorkflowRuns have stored");
  artifact.showHelpAfterError(`     See ${env.invokedAs} artifact --help.`);
  const list = artifact
    .command("list")
    .alias("ls")
    .description("Lists the artifacts of a Run or a WorkflowRun.")
    .argument("<NAME>", "name of a Run or a WorkflowRun")
    .option("-o, --output <format>", "json or name (default: a table)")
    .action(async (name: string, flags: ListFlags) => {
      end(await inCluster(flags, env, (session) => listArtifacts(name, flags.output, session)));
    });
  withExamples(withClusterOptions(list), env, "artifact list", [["Of a WorkflowRun", "artifact list ci-x7k2p"]]);

  const download = artifact
    .command("download")
    .description(
      "Downloads an artifact through a Pod of the Runtime, and verifies size and digest. A download that broke off goes on where it was.",
    )
    .argument("<NAME>", "name of a Run or a WorkflowRun")
    .argument("<ARTIFACT>", "name of the artifact, or JOB/ARTIFACT")
    .option("--to <file>", "file to write (default: the name of the artifact; .tar.gz behind it for a directory)")
    .option("--overwrite", "replace the file if it is there")
    .action(async (name: string, artifactName: string, flags: DownloadFlags) => {
      end(await inCluster(flags, env, (session) => downloadArtifact(name, artifactName, flags, session)));
    });
  withExamples(withClusterOptions(download), env, "artifact download", [
    ["Into a file of another name", "artifact download ci-x7k2p build/dist.tgz --to /tmp/dist.tgz"],
  ]);
};

async function listArtifacts(name: string, format: string | undefined, session: Session): Promise<ExitCode> {
  const { out, err } = session.env;
  if (format !== undefined && format !== "json" && format !== "name") {
    throw new CliError(`artifacts have no output format ${format}`, { advice: "Write -o json or -o name." });
  }
  const entries = await artifactsOf(name, session);
  if (format === "json")
    out.write(
      `${JSON.stringify(
        entries.map(({ job, ref }) => ({ ...(job && { job }), ...ref })),
        undefined,
        2,
      )}\n`,
    );
  else if (format === "name") out.write(entries.map((entry) => `${longName(entry)}\n`).join(""));
  else if (entries.length === 0) err.write(`${name} has no artifacts\n`);
  else {
    const rows = entries.map((entry) => [longName(entry), entry.ref.type, size(entry.ref.sizeBytes), entry.ref.digest]);
    out.write(
      tableLines(["NAME", "TYPE", "SIZE", "DIGEST"], rows)
        .map((line) => `${line}\n`)
        .join(""),
    );
  }
  return exitCodes.succeeded;
}

async function downloadArtifact(
  name: string,
  artifact: string,
  flags: DownloadFlags,
  session: Session,
): Promise<ExitCode> {
  const { env, client } = session;
  const entry = pickArtifact(await artifactsOf(name, session), artifact, name);
  const path =
    flags.to ?? `${entry.name}${entry.ref.type === "Directory" && !/\.t(ar\.)?gz$/.test(entry.name) ? ".tar.gz" : ""}`;
  const artifacts = createArtifacts({ client, files: env.downloads, clock: env.clock, random: env.random });
  try {
    await artifacts.download(entry, path, {
      overwrite: flags.overwrite === true,
      signal: env.interrupted,
      ...(env.err.isTerminal && { onProgress: (bytes, of) => env.err.write(`\r${size(bytes)} of ${size(of)}   `) }),
    });
  } catch (error) {
    if (env.interrupted.aborted) return exitCodes.interrupted;
    throw readable(error, path);
  } finally {
    if (env.err.isTerminal) env.err.write("\r\u001b[K");
  }
  env.out.write(`${path}\n`);
  return exitCodes.succeeded;
}

/** Errors of the download that say themselves what to do, and those of the file system. */
function readable(error: unknown, path: string): unknown {
  if (!(error instanceof Error)) return error;
  if (error.name === "ArtifactNotReadableError")
    return new CliError(error.message, { exitCode: exitCodes.failed, cause: error });
  if (error.name === "ArtifactDamagedError") {
    return new CliError(error.message, {
      exitCode: exitCodes.failed,
      cause: error,
      advice: "Nothing was written; try again.",
    });
  }
  const { code } = error as { code?: unknown };
  if (typeof code !== "string") return error;
  return new CliError(`${path} cannot be written: ${error.message}`, {
    cause: error,
    advice: "Name another file with --to.",
  });
}
