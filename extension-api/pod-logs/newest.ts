import type { LogLine, Newest } from "../logs/ports.ts";
import { maxTailLines } from "../logs/query.ts";
import { type OpenStored, orNone } from "./history.ts";
import { compareStored, positionOf, type StoredAt, sinceTimeOf } from "./position.ts";
import { type StoredLine, StoredLines } from "./stored-lines.ts";

/** Lines of all Runs that are looked at first; then eight times as many, until there are no more. */
const firstWindow = 1000;
const growth = 8;

/** What was found in a window. */
interface Window {
  /** The newest records of the Run before the boundary, in order. */
  readonly own: readonly StoredLine[];
  /** There were more of them than fit. */
  readonly overflow: boolean;
  /** Nothing before the window. */
  readonly whole: boolean;
  /** First and last record of any Run. */
  readonly first: StoredAt | undefined;
  readonly last: StoredAt | undefined;
}

/**
 * The newest records of a Run in a log that others share: the node finds the last lines without reading what comes before, so
 * windows from the end are asked for that grow until the reader has enough.
 *
 * @param sinceMs nothing of the Run is older, in milliseconds since the epoch
 */
export async function newest(open: OpenStored, run: string, sinceMs: number, restarted: boolean): Promise<Newest> {
  const sinceTime = sinceTimeOf(sinceMs);
  const look = async (previous: boolean, tailLines: number, before: StoredAt | undefined): Promise<Window> => {
    const bytes = await orNone(open({ previous, sinceTime, ...(Number.isFinite(tailLines) && { tailLines }) }));
    return readWindow(bytes, run, tailLines, before);
  };

  let window = await look(false, firstWindow, undefined);
  // Of an agent that has just been started again, the end may be in the run before.
  const fromPrevious = restarted && window.whole && window.last === undefined;
  if (fromPrevious) window = await look(true, firstWindow, undefined);
  const { last } = window;

  async function* batches(): AsyncGenerator<readonly LogLine[]> {
    let previous = fromPrevious;
    let boundary: StoredAt | undefined;
    let size = firstWindow;
    for (;;) {
      if (window.own.length > 0) yield window.own;
      boundary = (window.overflow ? window.own[0] : window.first) ?? boundary;
      if (!window.overflow) {
        if (window.whole) {
          if (previous || !restarted) return;
          previous = true;
          size = firstWindow;
        } else {
          size = size >= firstWindow * growth ** 2 ? Number.POSITIVE_INFINITY : size * growth;
        }
      }
      window = await look(previous, size, boundary);
    }
  }

  return { end: last && positionOf(last), batches: batches() };
}

async function readWindow(
  bytes: AsyncIterable<Buffer>,
  run: string,
  size: number,
  before: StoredAt | undefined,
): Promise<Window> {
  const stored = new StoredLines();
  let own: StoredLine[] = [];
  let seen = 0;
  let oldest: StoredAt | undefined;
  let later: StoredAt | undefined;
  let last: StoredAt | undefined;
  for await (const piece of bytes) {
    for (const line of stored.push(piece)) {
      if (before !== undefined && compareStored(line, before) >= 0) continue;
      last = line;
      oldest ??= line;
      if (line.time !== oldest.time) later ??= line;
      if (line.run !== run) continue;
      void line.text; // decoded now, so that the large piece that it is in can go
      own[seen++ % maxTailLines] = line;
    }
  }
  const overflow = seen > maxTailLines;
  const turn = seen % maxTailLines;
  if (overflow) own = [...own.slice(turn), ...own.slice(0, turn)];
  const whole = stored.parts < size;
  // The window may begin among records that were stored at once: which of them these are cannot be told.
  if (!whole) own = own.filter(({ time }) => time !== oldest?.time);
  return { own, overflow, whole, first: whole ? oldest : later, last };
}
