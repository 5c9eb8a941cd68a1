import { createInterface } from "node:readline/promises";

/** Asks on the terminal; see `Environment.ask`. */
export async function ask(question: string, signal?: AbortSignal): Promise<string | undefined> {
  if (!process.stdin.isTTY || !process.stderr.isTTY || signal?.aborted) return undefined;
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  // readline would take Ctrl-C for itself.
  lines.on("SIGINT", () => process.kill(process.pid, "SIGINT"));
  const closed = new Promise<undefined>((resolve) => lines.once("close", () => resolve(undefined)));
  try {
    return await Promise.race([lines.question(question, signal === undefined ? {} : { signal }), closed]);
  } catch (error) {
    if (signal?.aborted) return undefined;
    throw error;
  } finally {
    lines.close();
  }
}
