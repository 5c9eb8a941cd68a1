import { hash8 } from "#api/hash.ts";
import type { StreamEnds } from "#api/log-repeats.ts";
import { badRequest, expired } from "./errors.ts";
import type { Position } from "./ports.ts";

/**
 * How far a Run's log was delivered: everything of attempts below `attempt`, and of `attempt` itself everything up to
 * `seq` (0: nothing). When `pod` is there, that Pod's log was looked at up to `position`.
 */
export interface Place {
  readonly attempt: number;
  readonly seq: number;
  readonly at?: PodPosition;
  /** Of `attempt`: an agent that is started again repeats output. Absent: nothing. */
  readonly ends?: StreamEnds;
}

export interface PodPosition {
  /** {@link podKey} of the Pod. */
  readonly pod: string;
  readonly position: Position;
}

/** Before the first record. */
export const start: Place = { attempt: 1, seq: 0 };

/** The cursor that stands for {@link start} of any Run: the whole log from its beginning. */
export const startCursor = "start";

/** Tells Runs and Pods apart in cursors; short, because every record that is followed carries one. */
export const runKey = (uid: string) => hash8(uid);
export const podKey = (uid: string) => hash8(uid);

const form = /^1-([0-9a-f]{8})-(\d{1,9})-(\d{1,15})(?:~(\d{1,15})~(\d{1,15}))?(?:-([0-9a-f]{8})-([\w.]{1,400}))?$/;

/** @param run {@link runKey} of the Run */
export function encodeCursor(run: string, place: Place): string {
  const { attempt, seq, at, ends } = place;
  if (attempt === 1 && seq === 0 && at === undefined) return startCursor;
  const base = `1-${run}-${attempt}-${seq}${ends === undefined ? "" : `~${ends.stdout}~${ends.stderr}`}`;
  return at === undefined ? base : `${base}-${at.pod}-${at.position}`;
}

/**
 * @param run {@link runKey} of the Run
 * @throws StatusError 400 for what is no cursor, 410 for the cursor of another Run (one of the same name before this one).
 */
export function decodeCursor(run: string, cursor: string): Place {
  if (cursor === startCursor) return start;
  const [, of, attempt, seq, stdout, stderr, pod, position] = form.exec(cursor) ?? [];
  if (of === undefined) {
    throw badRequest("the cursor is none that this API gave out; pass one back as it came, or leave it away");
  }
  if (of !== run) throw expired("the cursor is of another Run that had this name");
  const ends = stdout === undefined ? undefined : { stdout: Number(stdout), stderr: Number(stderr) };
  const place = { attempt: Number(attempt), seq: Number(seq), ...(ends && { ends }) };
  if (pod === undefined || position === undefined) return place;
  return { ...place, at: { pod, position } };
}
