import { type OpenStored, orNone } from "./history.ts";
import type { StoredRange } from "./source.ts";

/** More than the time before a line takes. */
const timeBytes = 40;

/**
 * When the oldest line was stored of what the node keeps of one run of an agent's container, in milliseconds since the epoch;
 * undefined when it keeps nothing of it.
 *
 * @param restarted whether there is a run of the container before this one
 * @param atMs tells which run is meant: the one that printed at that time
 */
export async function beginningMs(open: OpenStored, restarted: boolean, atMs: number): Promise<number | undefined> {
  const endOfPrevious = restarted ? await firstTime(open, { previous: true, tailLines: 1 }) : undefined;
  return firstTime(open, { previous: endOfPrevious !== undefined && atMs <= endOfPrevious });
}

/** The time before the first line of a range. */
async function firstTime(open: OpenStored, range: StoredRange): Promise<number | undefined> {
  let first = "";
  for await (const piece of await orNone(open({ ...range, limitBytes: timeBytes }))) {
    first += piece.toString("latin1");
    if (first.length >= timeBytes) break;
  }
  const ms = Date.parse(first.split(" ", 1)[0] ?? "");
  return Number.isNaN(ms) ? undefined : ms;
}
