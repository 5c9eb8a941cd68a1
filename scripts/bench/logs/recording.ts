import { encodeRecords } from "#api/log-lines.ts";
import { encodeRecord } from "#api/log-record.ts";
import { timestamp } from "#api/time.ts";

/** A line of a build, of ordinary length; longer ones repeat it. */
const words = "compiling module 1234 of 5678 in 91 ms, warnings 0, cache miss; a line of a build as they all are; ";

export const messageOf = (bytes: number): string => words.repeat(Math.ceil(bytes / words.length)).slice(0, bytes);

/** What an agent takes at a time from a program that prints a lot. */
const eventBytes = 64 * 1024;

export interface Recording {
  /** What the node sends. */
  readonly bytes: Buffer;
  /** Bytes that the program printed: messages and their newlines. */
  readonly printed: number;
  readonly records: number;
}

/**
 * The log of an agent as a node sends it with `timestamps=true`.
 *
 * @param printed so many bytes of the Run's output at least
 * @param end whether the mark at the end of the attempt follows
 */
export function recording(
  run: string,
  messageBytes: number,
  printed: number,
  beginMs: number,
  end: boolean,
): Recording {
  const message = messageOf(messageBytes);
  const records = Math.ceil(printed / (messageBytes + 1));
  const parts: string[] = [];
  let count = 0;
  /** Ten microseconds lie between two lines. */
  const store = (lines: string) => {
    for (const line of lines.split(/(?<=\n)/)) {
      const stored = timestamp(beginMs + ++count / 100).replace("Z", `${String(count % 1000).padStart(3, "0")}Z`);
      parts.push(`${stored} ${line}`);
    }
  };
  const base = { run, attempt: 1 };
  const together = Math.ceil(eventBytes / (messageBytes + 1));
  for (let first = 1; first <= records; first += together) {
    const time = timestamp(beginMs + count / 100);
    const size = Math.min(together, records + 1 - first);
    const record = (_: unknown, index: number) => {
      const seq = first + index;
      return { ...base, seq, time, stream: "stdout" as const, message, end: seq * (messageBytes + 1) };
    };
    store(encodeRecords(Array.from({ length: size }, record)));
  }
  const time = timestamp(beginMs + count / 100);
  if (end) store(encodeRecord({ ...base, seq: records + 1, time, stream: "system", message: "", last: true }));
  return { bytes: Buffer.from(parts.join("")), printed: records * (messageBytes + 1), records };
}

/**
 * A stream in the pieces that a real API server was seen to pass on from a busy kubelet: most are one line, because the kubelet sends
 * each of them on its own, and some are what had gathered meanwhile, up to 16 KiB.
 */
export function* pieces(bytes: Buffer): Generator<Buffer> {
  for (let at = 0, n = 0; at < bytes.length; n++) {
    const lineEnd = bytes.indexOf(10, at) + 1;
    const end = n % 7 === 6 || lineEnd === 0 ? Math.min(bytes.length, at + 16_384) : lineEnd;
    yield bytes.subarray(at, end);
    at = end;
  }
}
