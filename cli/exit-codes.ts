/** How `krt` ends; shown by its help and in docs/krt.md. */
export const exitCodes = {
  succeeded: 0,
  failed: 1,
  usage: 2,
  timeout: 3,
  platform: 4,
  refused: 5,
  attemptTimeout: 124,
  noExitCode: 125,
  interrupted: 130,
} as const;

/** One of {@link exitCodes}, or that of the program of a Run. */
export type ExitCode = number;

/** What each code means, in the order of the help. */
export const exitCodeMeanings: readonly (readonly [code: ExitCode, meaning: string])[] = [
  [exitCodes.succeeded, "everything that was run, or asked for, succeeded"],
  [exitCodes.failed, "a run failed, or not everything that was asked for could be done"],
  [exitCodes.usage, "the command line or a manifest is wrong; nothing was run"],
  [exitCodes.timeout, "not everything was over within --timeout"],
  [exitCodes.platform, "krt or the cluster itself failed, or cannot be reached"],
  [exitCodes.refused, "the cluster refused: no such object, no permission, or a login that has expired"],
  [exitCodes.attemptTimeout, "krt run: the Run ran longer than its --timeout"],
  [exitCodes.noExitCode, "krt run: the Run failed without an exit code of its program"],
  [exitCodes.interrupted, "interrupted by Ctrl-C, or krt run: the Run was cancelled"],
];
