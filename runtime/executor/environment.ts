/** The environment of a process, and the marks in it by which its descendants are found again. Pure. */
import type { ExecuteRequest, ExecutionId } from "#runtime/executor-client.ts";

/** Whose process it is: the attempt, and the executor (by the path of its socket) that started it. */
export interface Marks extends ExecutionId {
  readonly executor: string;
}

const runUidName = "KRUNTIME_RUN_UID";
const attemptName = "KRUNTIME_ATTEMPT";
const executorName = "KRUNTIME_EXECUTOR";

/** Container, then user, then platform, then the marks: a later one wins. */
export function environmentOf(
  request: ExecuteRequest,
  containerEnv: Readonly<Record<string, string | undefined>>,
  executor: string,
): Record<string, string | undefined> {
  return {
    ...containerEnv,
    ...request.env,
    ...request.platformEnv,
    [runUidName]: request.runUid,
    [attemptName]: String(request.attempt),
    [executorName]: executor,
  };
}

/** The marks in an environment as `/proc/PID/environ` has it: `NAME=value` items, each ended by a zero byte. */
export function marksIn(environ: Buffer): Marks | undefined {
  const runUid = valueIn(environ, runUidName);
  const attempt = valueIn(environ, attemptName);
  const executor = valueIn(environ, executorName);
  if (runUid === undefined || attempt === undefined || executor === undefined) return undefined;
  return { runUid, attempt: Number(attempt), executor };
}

/** The first item of a name counts, as for getenv. */
function valueIn(environ: Buffer, name: string): string | undefined {
  const prefix = `${name}=`;
  for (let at = environ.indexOf(prefix); at >= 0; at = environ.indexOf(prefix, at + 1)) {
    if (at > 0 && environ[at - 1] !== 0) continue; // the end of a longer name, or part of a value
    const end = environ.indexOf(0, at);
    return environ.toString("utf8", at + prefix.length, end < 0 ? environ.length : end);
  }
  return undefined;
}
