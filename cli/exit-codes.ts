/** How `krt` ends; shown by its help and in docs/quick-start.md. */
export const exitCodes = {
  succeeded: 0,
  failed: 1,
  usage: 2,
  timeout: 3,
  platform: 4,
  interrupted: 130,
} as const;

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

/** What each code means, in the order of the help. */
export const exitCodeMeanings: readonly (readonly [code: ExitCode, meaning: string])[] = [
  [exitCodes.succeeded, "everything that was run succeeded"],
  [exitCodes.failed, "a run failed"],
  [exitCodes.usage, "the command line or a manifest is wrong; nothing was run"],
  [exitCodes.timeout, "not everything was over within --timeout"],
  [exitCodes.platform, "krt or the local cluster itself failed"],
  [exitCodes.interrupted, "interrupted by Ctrl-C"],
];
