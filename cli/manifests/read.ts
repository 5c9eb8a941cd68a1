import type { InputFiles } from "../environment.ts";
import { CliError } from "../errors.ts";
import { duplicates, type Manifest, toManifest } from "./manifest.ts";
import { parseManifests } from "./parse.ts";
import { ManifestError, type Problem } from "./problem.ts";

/** Ends of the names that are read from a directory. */
const manifestName = /\.(ya?ml|json)$/i;

/**
 * Reads the objects of files, of the files in directories, and of standard input (`-`), in the order given.
 *
 * @param namespace given on the command line; objects that name none get it, or `fallback`
 * @throws ManifestError naming every problem; CliError when a file cannot be read.
 */
export async function readManifests(
  paths: readonly string[],
  namespace: string | undefined,
  files: InputFiles,
  fallback = "default",
): Promise<Manifest[]> {
  const { manifests, problems } = await parseFiles(paths, namespace, files, fallback);
  if (problems.length > 0) throw new ManifestError(problems);
  return manifests;
}

/**
 * The same with what is wrong beside what can be read.
 * @throws CliError when a file cannot be read.
 */
export async function parseFiles(
  paths: readonly string[],
  namespace: string | undefined,
  files: InputFiles,
  fallback = "default",
): Promise<{ manifests: Manifest[]; problems: Problem[] }> {
  const texts: [file: string, text: string][] = [];
  for (const path of new Set(paths)) texts.push(...(await readPath(path, files)));
  const problems: Problem[] = [];
  const manifests: Manifest[] = [];
  for (const [file, text] of texts) {
    const parsed = parseManifests(file, text);
    problems.push(...parsed.problems);
    for (const document of parsed.documents) {
      const manifest = toManifest(document, namespace, fallback);
      if ("message" in manifest) problems.push(manifest);
      else manifests.push(manifest);
    }
  }
  problems.push(...duplicates(manifests));
  return { manifests, problems };
}

/**
 * The text of one file, or of standard input (`-`).
 * @throws CliError when it cannot be read
 */
export async function readText(path: string, files: InputFiles): Promise<string> {
  if (path === "-") return decode("standard input", await files.readInput());
  try {
    return decode(path, await files.read(path));
  } catch (error) {
    throw error instanceof CliError ? error : unreadable(path, error);
  }
}

async function readPath(path: string, files: InputFiles): Promise<[file: string, text: string][]> {
  if (path === "-") return [["stdin", decode("standard input", await files.readInput())]];
  try {
    const names = await files.list(path);
    if (names === undefined) return [[path, decode(path, await files.read(path))]];
    const found = names.filter((name) => manifestName.test(name)).sort();
    if (found.length === 0) {
      throw new CliError(`there is no manifest in directory ${path}`, {
        advice: "Names of manifests end with .yaml, .yml or .json; directories inside it are not read.",
      });
    }
    const directory = path.replace(/\/+$/, "");
    return await Promise.all(
      found.map(async (name): Promise<[string, string]> => {
        const file = `${directory}/${name}`;
        return [file, decode(file, await files.read(file))];
      }),
    );
  } catch (error) {
    throw error instanceof CliError ? error : unreadable(path, error);
  }
}

function decode(name: string, bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (error) {
    throw new CliError(`${name} is not text in UTF-8`, { advice: "Save it as UTF-8.", cause: error });
  }
}

function unreadable(path: string, error: unknown): CliError {
  const { code } = error as { code?: string };
  switch (code) {
    case "ENOENT":
      return new CliError(`there is no file ${path}`, { advice: "Check the path; `-` reads standard input." });
    case "EACCES":
      return new CliError(`${path} may not be read`, { advice: "Check the permissions of the file.", cause: error });
    default: {
      const why = error instanceof Error ? error.message : String(error);
      return new CliError(`${path} cannot be read: ${why}`, { cause: error });
    }
  }
}
