import { type OpenStored, orNone } from "./history.ts";

/** More than the time before a line takes. */
const timeBytes = 40;

/**
 * When the oldest line that the node keeps of an agent was stored, in milliseconds since the epoch; undefined when it keeps none.
 *
 * @param restarted whether there is a run of the container before this one
 */
export async function beginningMs(open: OpenStored, restarted: boolean): Promise<number | undefined> {
  for (const previous of restarted ? [true, false] : [false]) {
    let first = "";
    for await (const piece of await orNone(open({ previous, limitBytes: timeBytes }))) {
      first += piece.toString("latin1");
      if (first.length >= timeBytes) break;
    }
    const ms = Date.parse(first.split(" ", 1)[0] ?? "");
    if (!Number.isNaN(ms)) return ms;
  }
  return undefined;
}
