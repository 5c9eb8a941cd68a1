import { parseTime } from "#api/time.ts";
import { badRequest } from "./errors.ts";

/** Records of a snapshot, or before the first one that is followed, when the request names no number; and the most. */
export const defaultTailLines = 100;
export const maxTailLines = 500;

export interface LogQuery {
  readonly follow: boolean;
  /** How many of the newest records; not used with a cursor. */
  readonly tailLines: number;
  readonly cursor: string | undefined;
  /** Only this attempt. */
  readonly attempt: number | undefined;
  /** Only records of this time (milliseconds since the epoch) and later. */
  readonly sinceMs: number | undefined;
}

const known = ["follow", "tailLines", "cursor", "attempt", "sinceTime"];

type Query = Readonly<Record<string, string | undefined>>;

/** @throws StatusError 400 that says what to write instead. */
export function parseLogQuery(query: Query): LogQuery {
  const unknown = Object.keys(query).find((name) => !known.includes(name));
  if (unknown !== undefined) {
    throw badRequest(`unknown query parameter ${JSON.stringify(unknown)}; there are ${known.join(", ")}`);
  }
  const cursor = query.cursor || undefined;
  return {
    follow: isFollow(query),
    tailLines: cursor === undefined ? tailLinesOf(query.tailLines) : defaultTailLines,
    cursor,
    attempt: query.attempt === undefined ? undefined : count("attempt", query.attempt),
    sinceMs: sinceOf(query.sinceTime),
  };
}

/** Whether the answer is a stream. */
export function isFollow({ follow }: Query): boolean {
  if (follow === undefined || follow === "false" || follow === "0") return false;
  if (follow === "true" || follow === "1") return true;
  throw badRequest(`follow is true or false, not ${JSON.stringify(follow)}`);
}

function tailLinesOf(text: string | undefined): number {
  return text === undefined ? defaultTailLines : Math.min(maxTailLines, count("tailLines", text));
}

function count(name: string, text: string): number {
  const value = /^\d{1,15}$/.test(text) ? Number(text) : 0;
  if (value < 1) throw badRequest(`${name} is a whole number from 1, not ${JSON.stringify(text)}`);
  return value;
}

function sinceOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const time = parseTime(text);
  if (time === undefined) {
    throw badRequest(`sinceTime is a time like 2026-01-02T15:04:05Z, not ${JSON.stringify(text)}`);
  }
  return time;
}
