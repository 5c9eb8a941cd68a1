import { checkRelativePath } from "#api/paths.ts";
import type { RunLayout } from "#runtime/files/layout.ts";
import { type Files, isFilesError } from "#runtime/files/port.ts";
import type { GitCredentials } from "#runtime/source/credentials.ts";
import { type GitFetcher, type GitResult, SourceFailedError } from "#runtime/source/port.ts";

/** Largest inline source, as in the schema. */
export const maxInlineBytes = 256 * 1024;

/**
 * Writes inline source to a file of its own and returns its absolute path. It is executable, so that a first line `#!...` is
 * honoured.
 *
 * @throws SourceFailedError when the text cannot be written as it is.
 */
export async function writeInlineSource(files: Files, layout: RunLayout, text: string): Promise<string> {
  if (!text.isWellFormed()) {
    throw new SourceFailedError("source.inline is not valid Unicode; it must be UTF-8 text");
  }
  const content = Buffer.from(text);
  if (content.length > maxInlineBytes) {
    throw new SourceFailedError(
      `source.inline has ${content.length} bytes, over the limit of ${maxInlineBytes}; put it into a git repository`,
    );
  }
  const path = `${layout.source}/script`;
  await files.writeFile(path, content, 0o755);
  return path;
}

export interface GitSource {
  readonly url: string;
  readonly ref?: string;
  readonly credentials?: GitCredentials;
  /** Script inside the repository; default `script`. */
  readonly entrypoint?: string;
}

/**
 * Fetches a git source: without a workspace into the working directory, with one beside it, so that a clone never mixes with
 * files that Runs share. Returns the absolute path of the entrypoint.
 *
 * @throws SourceFailedError when the repository or the entrypoint in it cannot be had.
 */
export async function fetchGitSource(
  files: Files,
  git: GitFetcher,
  layout: RunLayout,
  { url, ref, credentials, entrypoint = "script" }: GitSource,
  signal?: AbortSignal,
): Promise<GitResult & { readonly script: string }> {
  const violation = checkRelativePath(entrypoint);
  if (violation !== undefined) {
    throw new SourceFailedError(`mode.task.entrypoint: ${violation.message}; ${violation.advice}`);
  }
  const directory = layout.workspace === undefined ? layout.workingDirectory : layout.source;
  const result = await git.fetch(
    {
      url,
      directory,
      ...(ref !== undefined && { ref }),
      ...(credentials !== undefined && { credentials }),
    },
    signal,
  );
  const script = `${directory}/${entrypoint}`;
  if (!(await present(files, script))) {
    throw new SourceFailedError(
      `the repository has no file "${entrypoint}" at ${result.commit}; set mode.task.entrypoint`,
    );
  }
  return { ...result, script };
}

/** A repository may hold links; whether they lead anywhere is for the program that follows them to find out. */
async function present(files: Files, path: string): Promise<boolean> {
  try {
    const info = await files.stat(path);
    return info?.kind === "File" || info?.kind === "Symlink";
  } catch (error) {
    if (isFilesError(error, "Unsafe")) return true;
    if (isFilesError(error, "WrongKind", "Missing")) return false;
    throw error;
  }
}
