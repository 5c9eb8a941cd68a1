import { afterEnds, beforeBegin, beginOf, endsWith, nothingDelivered, type StreamEnds } from "#api/log-repeats.ts";
import { RecordLine } from "#api/record-line.ts";
import { type Place, type PodPosition, podKey } from "./cursor.ts";
import type { AgentLog, LogLine } from "./ports.ts";
import { positionIn, type Segment } from "./segments.ts";

/** A record, and how far the log is delivered with it. */
export interface Entry {
  readonly record: RecordLine;
  /** What of the record was not delivered before; undefined when it only repeats. */
  readonly fresh: RecordLine | undefined;
  readonly place: Place;
}

/**
 * Reads the records of a segment, in batches, from a place to the end there is now, or to where an attempt begins that the
 * segment does not have. Returns the place it has come to.
 * @param oldestMs nothing of the segment is older (milliseconds since the epoch)
 */
export async function* readSegment(
  log: AgentLog,
  run: string,
  segment: Segment,
  start: Place,
  oldestMs: number,
): AsyncGenerator<readonly Entry[], Place> {
  const pod = podKey(log.podUid);
  const position = positionIn(log.podUid, start);
  const from = Math.max(start.attempt, segment.from);
  let { attempt, seq, ends = nothingDelivered }: Place = from === start.attempt ? start : { attempt: from, seq: 0 };
  let reached = position;
  const place = (): Place =>
    placeOf(attempt, seq, ends, reached === undefined ? undefined : { pod, position: reached });
  for await (const { lines, end } of log.forwards(run, position, oldestMs)) {
    const entries: Entry[] = [];
    let beyond = false;
    for (const line of lines) {
      const records = RecordLine.read(line.text);
      beyond = (records[0]?.attempt ?? 0) > segment.to;
      if (beyond) break;
      reached = line.begin ?? reached;
      for (const [index, record] of records.entries()) {
        // Who goes on from within a line reads all of it again, and what was delivered is told by `ends`.
        if (index === records.length - 1) reached = line.end;
        if (record.attempt < from) continue;
        if (record.attempt !== attempt) ends = nothingDelivered;
        ({ attempt, seq } = record);
        const fresh = freshOf(record, ends);
        ends = endsWith(record, ends);
        entries.push({ record, fresh, place: place() });
      }
    }
    if (entries.length > 0) yield entries;
    if (beyond) break;
    reached = end ?? reached;
  }
  return place();
}

/** The newest records of a segment. */
export interface Tail {
  /** In order. */
  readonly entries: readonly Entry[];
  /** Where to read on after them. */
  readonly place: Place;
  /** The latest attempt whose end is marked; 0 when none is. */
  readonly ended: number;
}

/**
 * Reads backwards until `count` records were found, or there are no more.
 * @param oldestMs nothing of the segment is older (milliseconds since the epoch)
 * @param wanted false ends the search: this record and older ones are not asked for
 */
export async function readTail(
  log: AgentLog,
  run: string,
  segment: Segment,
  options: { readonly count: number; readonly oldestMs: number; readonly wanted: (record: RecordLine) => boolean },
): Promise<Tail> {
  const { end, batches } = await log.newest(run, options.oldestMs);
  const pod = podKey(log.podUid);
  const atEnd = end === undefined ? {} : { at: { pod, position: end } };
  const newestFirst: Entry[] = [];
  const known = new Known();
  let last: Place | undefined;
  /** A later attempt follows what belongs to this segment: reading goes on before it. */
  let beyond = false;
  let ended = 0;
  search: for await (const lines of batches) {
    for (const { record, line, isLast } of recordsFromEnd(lines)) {
      const { attempt, seq } = record;
      if (record.last) ended = Math.max(ended, attempt);
      if (attempt > segment.to) {
        beyond = true;
        continue;
      }
      if (attempt < segment.from) break search;
      const position = isLast ? line.end : line.begin;
      const place = { attempt, seq, ...(position !== undefined && { at: { pod, position } }) };
      last ??= beyond ? place : { attempt, seq, ...atEnd };
      if (record.last) continue;
      if (newestFirst.length >= options.count || !options.wanted(record)) break search;
      const fresh = known.add(record);
      if (fresh !== undefined) newestFirst.push({ record, fresh, place });
    }
  }
  const entries = withEnds(newestFirst.reverse());
  if (last !== undefined) {
    const { attempt } = last;
    const ends = entries.findLast(({ record }) => record.attempt === attempt)?.place.ends;
    last = { ...last, ...(ends !== undefined && { ends }) };
  }
  // A later attempt and nothing before it: it is read from the beginning, when the Run's status tells where it belongs.
  const none: Place = { attempt: segment.from, seq: 0, ...(!beyond && atEnd) };
  return { entries, place: last ?? none, ended };
}

function* recordsFromEnd(lines: readonly LogLine[]) {
  for (const line of lines.toReversed()) {
    const records = RecordLine.read(line.text);
    for (const record of records.toReversed()) yield { record, line, isLast: record === records.at(-1) };
  }
}

/** Says in each place how much of the streams is delivered there, as far as the entries tell. */
function withEnds(entries: readonly Entry[]): Entry[] {
  let attempt = 0;
  let ends = nothingDelivered;
  return entries.map((entry) => {
    if (entry.record.attempt !== attempt) ends = nothingDelivered;
    attempt = entry.record.attempt;
    ends = endsWith(entry.record, ends);
    return ends === nothingDelivered ? entry : { ...entry, place: { ...entry.place, ends } };
  });
}

/** What of the streams of an attempt was found so far, from the newest record backwards. */
class Known {
  readonly #begins = new Map<string, number>();

  /** @returns what of the record is new */
  add(line: RecordLine): RecordLine | undefined {
    const key = `${line.attempt} ${line.stream}`;
    const begin = this.#begins.get(key) ?? Number.POSITIVE_INFINITY;
    const record = line.record();
    const fresh = beforeBegin(record, begin);
    if (record.end !== undefined) this.#begins.set(key, Math.min(begin, beginOf(record)));
    return fresh === record ? line : fresh && RecordLine.of(fresh);
  }
}

/** What of a record comes after everything that was delivered. */
function freshOf(line: RecordLine, ends: StreamEnds): RecordLine | undefined {
  const { end, stream } = line;
  if (end === undefined || stream === "system") return line;
  const fresh = end - ends[stream];
  // By far the most frequent: nothing of it was delivered before.
  if (fresh >= line.bytes) return line;
  const rest = fresh <= 0 ? undefined : afterEnds(line.record(), ends);
  return rest && RecordLine.of(rest);
}

const placeOf = (attempt: number, seq: number, ends: StreamEnds, at: PodPosition | undefined): Place => ({
  attempt,
  seq,
  ...(at !== undefined && { at }),
  ...(ends !== nothingDelivered && { ends }),
});
