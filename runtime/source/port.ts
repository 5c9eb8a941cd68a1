import type { GitCredentials } from "./credentials.ts";

/** Fetches git sources. The agent's decisions (where to, how long) come in; how git is run is the adapter's. */
export interface GitFetcher {
  /**
   * Fetches exactly one ref, without history, and checks it out into `directory`, which must exist and be empty.
   *
   * @throws SourceFailedError when the repository cannot be had as asked. Aborting rejects with the signal's reason.
   */
  fetch(request: GitRequest, signal?: AbortSignal): Promise<GitResult>;
}

export interface GitRequest {
  /** `https://...`, `ssh://...` or `user@host:path`, without a password in it. */
  readonly url: string;
  /** Branch, tag or full commit id; the default branch when absent. */
  readonly ref?: string;
  /** Absolute path of the empty directory for the checkout. */
  readonly directory: string;
  readonly credentials?: GitCredentials;
}

export interface GitResult {
  /** Full id of the commit that was checked out. */
  readonly commit: string;
}

/** The source cannot be prepared; the message says why and what to do. The Run fails with reason SourceFailed. */
export class SourceFailedError extends Error {
  override readonly name = "SourceFailedError";
}
