/** {@link GitFetcher} with the `git` program. Adapter: touches the system. */
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Clock } from "#kube/ports.ts";
import { secretsOf } from "#runtime/source/credentials.ts";
import { watchSize } from "#runtime/source/directory-size.ts";
import {
  type GitEnvironment,
  gitCommands,
  gitEnvironment,
  gitOptions,
  secretFiles,
  TreeSize,
} from "#runtime/source/git-command.ts";
import { checkGitRef, type GitUrl, parseGitUrl } from "#runtime/source/git-url.ts";
import { type GitFetcher, type GitRequest, type GitResult, SourceFailedError } from "#runtime/source/port.ts";
import { type GitExit, runGit } from "#runtime/source/run-git.ts";

export interface SystemGitOptions {
  readonly clock: Clock;
  /** Environment of the agent, of which git sees a few variables. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Bytes that may be fetched, and bytes of the files that are checked out; default 100 MiB each. */
  readonly maxBytes?: number;
  /** Default 2 minutes: what takes longer is no source for a short execution. */
  readonly fetchTimeoutMs?: number;
  /** Default 1 minute. */
  readonly checkoutTimeoutMs?: number;
  /** Accept `file://` URLs; only for tests. */
  readonly allowFileUrls?: boolean;
}

const defaults = {
  maxBytes: 100 * 1024 * 1024,
  fetchTimeoutMs: 120_000,
  checkoutTimeoutMs: 60_000,
  allowFileUrls: false,
};
const maxFiles = 100_000;

export function createSystemGit(options: SystemGitOptions): GitFetcher {
  const settings = { ...defaults, ...options };
  return { fetch: (request, signal) => withHome((home) => fetchInto(settings, request, home, signal)) };
}

type Settings = SystemGitOptions & typeof defaults;

async function fetchInto(
  settings: Settings,
  request: GitRequest,
  home: string,
  signal?: AbortSignal,
): Promise<GitResult> {
  const url = parseGitUrl(request.url, settings.allowFileUrls);
  const ref = request.ref ?? "HEAD";
  checkGitRef(ref);
  if ((await readdir(request.directory)).length > 0) {
    throw new SourceFailedError(`${request.directory} is not empty, so the repository cannot be checked out there`);
  }
  const environment = await access(request, url, home);
  const tooLarge = new AbortController();
  const both = AbortSignal.any([tooLarge.signal, ...(signal ? [signal] : [])]);
  const git = async (args: readonly string[], timeoutMs: number, onOutput?: (chunk: Uint8Array) => void) =>
    await runGit({
      args: [...gitOptions(environment), ...args],
      cwd: request.directory,
      env: gitEnvironment(settings.environment, environment),
      maxFileBytes: settings.maxBytes,
      timeoutMs,
      clock: settings.clock,
      signal: both,
      secrets: secretsOf(request.credentials),
      ...(onOutput && { onOutput }),
    });

  const { fetchTimeoutMs, checkoutTimeoutMs, maxBytes } = settings;
  await must("prepare the directory", git(gitCommands.init, checkoutTimeoutMs));
  await must("prepare the directory", git(gitCommands.remote(request.url), checkoutTimeoutMs));

  const stopWatching = watchSize(settings.clock, request.directory, maxBytes, () => tooLarge.abort(oversize(maxBytes)));
  try {
    await must(`fetch ${ref}`, git(gitCommands.fetch(ref), fetchTimeoutMs), fetchAdvice(request, maxBytes));
  } finally {
    stopWatching();
  }

  const tree = new TreeSize();
  await must(
    "read the commit",
    git(gitCommands.sizes, checkoutTimeoutMs, (chunk) => tree.push(chunk)),
  );
  if (tree.bytes > maxBytes) throw oversize(maxBytes);
  if (tree.files > maxFiles)
    throw new SourceFailedError(`the repository has ${tree.files} files, more than ${maxFiles}`);
  await must(`check out ${ref}`, git(gitCommands.checkout, checkoutTimeoutMs));

  const id: Uint8Array[] = [];
  await must(
    "read the commit",
    git(gitCommands.commit, checkoutTimeoutMs, (chunk) => id.push(chunk)),
  );
  return { commit: Buffer.concat(id).toString().trim() };
}

/** What git needs to reach the repository, in a directory that nobody but the agent can enter. */
async function access(request: GitRequest, url: GitUrl, home: string): Promise<GitEnvironment> {
  const { credentials } = request;
  for (const [name, content] of Object.entries(secretFiles(credentials))) {
    await writeFile(join(home, name), content, { mode: 0o600 }); // ssh insists on a key that only its user can read
  }
  return { home, url, ...(credentials && { credentials }) };
}

async function must(what: string, running: Promise<GitExit>, advice = ""): Promise<void> {
  const { ok, timedOut, stderr } = await running.catch((error: unknown) => {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") {
      throw new SourceFailedError("git cannot be started: /bin/sh or the directory is missing", { cause: error });
    }
    throw error;
  });
  if (ok) return;
  const why = timedOut ? "it took too long" : printable(stderr) || "git failed without a message";
  throw new SourceFailedError(`could not ${what}: ${why}${advice}`);
}

function fetchAdvice({ ref, credentials }: GitRequest, maxBytes: number): string {
  const hints = [
    ...(ref !== undefined && /^[0-9a-f]{4,39}$/.test(ref) ? ["a commit needs its full id"] : []),
    ...(credentials === undefined ? ["a private repository needs source.credentialsSecretName"] : []),
    `at most ${maxBytes} bytes can be fetched`,
  ];
  return ` (${hints.join("; ")})`;
}

function oversize(maxBytes: number): SourceFailedError {
  return new SourceFailedError(`the repository is larger than ${maxBytes} bytes; use a smaller one or an artifact`);
}

function printable(text: string): string {
  return text
    .replace(/\s+/g, " ")
    .replace(/\p{Cc}/gu, "\uFFFD")
    .trim();
}

/** A home directory that lives as long as one fetch, outside of what Runs can see. */
async function withHome<T>(use: (home: string) => Promise<T>): Promise<T> {
  const home = await mkdtemp(join(tmpdir(), "kruntimes-git-"));
  try {
    return await use(home);
  } finally {
    await rm(home, { recursive: true, force: true });
  }
}
