import { decodeRecord, type LogRecord } from "#api/log-record.ts";
import { type Place, podKey } from "./cursor.ts";
import type { AgentLog } from "./ports.ts";
import { positionIn, type Segment } from "./segments.ts";

/** A record, and how far the log is delivered with it. */
export interface Entry {
  readonly record: LogRecord;
  readonly place: Place;
}

/**
 * Reads the records of a segment, in batches, from a place to the end there is now, or to where an attempt begins that the
 * segment does not have. Returns the place it has come to.
 */
export async function* readSegment(
  log: AgentLog,
  prefix: Buffer,
  segment: Segment,
  start: Place,
): AsyncGenerator<readonly Entry[], Place> {
  const pod = podKey(log.podUid);
  const position = positionIn(log.podUid, start);
  const from = Math.max(start.attempt, segment.from);
  let { attempt, seq } = position === undefined ? { attempt: from, seq: 0 } : start;
  let reached = position;
  const place = (): Place => ({ attempt, seq, ...(reached !== undefined && { at: { pod, position: reached } }) });
  for await (const { lines, end } of log.forwards(prefix, position)) {
    const entries: Entry[] = [];
    let beyond = false;
    for (const line of lines) {
      const record = decodeRecord(line.text);
      if (record === undefined) continue;
      beyond = record.attempt > segment.to;
      if (beyond) break;
      reached = line.end;
      if (record.attempt < from) continue;
      ({ attempt, seq } = record);
      entries.push({ record, place: place() });
    }
    if (entries.length > 0) yield entries;
    if (beyond) break;
    reached = end;
  }
  return place();
}

/** The newest records of a segment. */
export interface Tail {
  /** In order. */
  readonly entries: readonly Entry[];
  /** Where to read on after them. */
  readonly place: Place;
}

/**
 * Reads backwards until `count` records were found, or there are no more.
 * @param oldestMs nothing of the Run is older (milliseconds since the epoch)
 * @param wanted false ends the search: this record and older ones are not asked for
 */
export async function readTail(
  log: AgentLog,
  prefix: Buffer,
  segment: Segment,
  options: { readonly count: number; readonly oldestMs: number; readonly wanted: (record: LogRecord) => boolean },
): Promise<Tail> {
  const end = await log.end();
  const pod = podKey(log.podUid);
  const newestFirst: Entry[] = [];
  let last: Place | undefined;
  /** A later attempt follows what belongs to this segment: reading goes on before it. */
  let beyond = false;
  search: for await (const lines of log.backwards(prefix, end, options.oldestMs)) {
    for (const line of lines.toReversed()) {
      const record = decodeRecord(line.text);
      if (record === undefined) continue;
      const { attempt, seq } = record;
      if (attempt > segment.to) {
        beyond = true;
        continue;
      }
      if (attempt < segment.from) break search;
      const place = { attempt, seq, at: { pod, position: line.end } };
      last ??= beyond ? place : { attempt, seq, at: { pod, position: end } };
      if (newestFirst.length >= options.count || !options.wanted(record)) break search;
      newestFirst.push({ record, place });
    }
  }
  // A later attempt and nothing before it: it is read from the beginning, when the Run's status tells where it belongs.
  const none: Place = { attempt: segment.from, seq: 0, ...(!beyond && { at: { pod, position: end } }) };
  return { entries: newestFirst.reverse(), place: last ?? none };
}
