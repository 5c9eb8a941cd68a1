import { clusterError } from "./errors.ts";
import type { Session } from "./session.ts";

/** What a person may want of something that runs, and that is watched. */
export interface Ending {
  /** For example `Run hello`. */
  readonly what: string;
  /** The word for ending it, and the same while it happens: `Cancel`, `Cancelling`. */
  readonly verb: readonly [ask: string, doing: string];
  readonly end: () => Promise<unknown>;
  /** Called before a person is asked, and afterwards: nothing else may write on the terminal meanwhile. */
  readonly asking?: (begins: boolean) => void;
}

/**
 * At Ctrl-C a person is asked once; where nobody can be asked, and at a second Ctrl-C, the thing is ended. Another one leaves.
 *
 * @param leaving aborted when the watching is to end without waiting any longer
 * @returns what forgets all this
 */
export function onInterrupt(ending: Ending, session: Session, leaving: AbortController): () => void {
  const { env } = session;
  const { what, verb, asking = () => {} } = ending;
  const answered = new AbortController();
  let ended = false;
  const end = async () => {
    if (ended) return;
    ended = true;
    answered.abort();
    env.err.write(`${verb[1]} ${what}; another Ctrl-C leaves at once\n`);
    try {
      await ending.end();
    } catch (thrown) {
      const error = await clusterError(thrown, session);
      const why = error instanceof Error ? error.message : String(error);
      env.err.write(`krt: ${what} cannot be ended: ${why}\n`);
      leaving.abort();
    }
  };
  const ask = async () => {
    asking(true);
    const answer = await env.ask(`\n${verb[0]} ${what}? [y]es, [n]o, [d]etach and leave it running: `, answered.signal);
    asking(false);
    if (/^n/i.test(answer ?? "")) return;
    if (/^d/i.test(answer ?? "")) leaving.abort();
    else await end();
  };
  const interrupted = () => void ask();
  const forget = env.onSecondInterrupt(() => (ended ? leaving.abort() : void end()));
  env.interrupted.addEventListener("abort", interrupted, { once: true });
  if (env.interrupted.aborted) interrupted();
  return () => {
    forget();
    answered.abort();
    env.interrupted.removeEventListener("abort", interrupted);
  };
}
