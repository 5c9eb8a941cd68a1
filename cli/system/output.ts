import type { WriteStream } from "node:tty";
import type { Output } from "../environment.ts";

/** What a terminal has that does not tell its size. */
const commonColumns = 80;
const commonRows = 24;

/**
 * A stream of this process.
 *
 * @param env variables of this process: NO_COLOR and FORCE_COLOR (https://no-color.org, https://force-color.org), TERM
 */
export function systemOutput(stream: WriteStream, env: Readonly<Record<string, string | undefined>>): Output {
  const isTerminal = stream.isTTY === true && env.TERM !== "dumb";
  return {
    write: (text) => void stream.write(text),
    isTerminal,
    color: wantsColor(isTerminal, env),
    columns: () => stream.columns || commonColumns,
    rows: () => stream.rows || commonRows,
    onResize(listener) {
      stream.on("resize", listener);
      return () => stream.off("resize", listener);
    },
  };
}

/** A variable that is set to nothing is not set. */
export function wantsColor(isTerminal: boolean, env: Readonly<Record<string, string | undefined>>): boolean {
  if (env.NO_COLOR) return false;
  return env.FORCE_COLOR ? env.FORCE_COLOR !== "0" : isTerminal;
}
