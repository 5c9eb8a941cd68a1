import type { Readable } from "node:stream";

const newline = 0x0a;
const lineEnd = Buffer.from("\n");

/** A longer line comes in pieces, as the kubelet cuts it; records of our log are shorter than 16 KiB. */
const maxLineBytes = 64 * 1024;

/**
 * Hands on what a process prints in whole lines, as many at a time as arrive together; the last one gets a newline if it has none.
 * Only a newline ends a line: a carriage return or U+2028 may stand in the text of a record.
 */
export function followLines(stream: Readable, onLines: (lines: Buffer) => void): void {
  let pending: Buffer[] = [];
  let size = 0;
  const hand = (...ends: readonly Buffer[]) => {
    const pieces = [...pending, ...ends];
    pending = [];
    size = 0;
    onLines(pieces.length === 1 && pieces[0] !== undefined ? pieces[0] : Buffer.concat(pieces));
  };
  stream.on("data", (chunk: Buffer) => {
    const end = chunk.lastIndexOf(newline) + 1;
    if (end > 0) hand(chunk.subarray(0, end));
    if (end === chunk.length) return;
    pending.push(chunk.subarray(end));
    size += chunk.length - end;
    if (size > maxLineBytes) hand(lineEnd);
  });
  stream.on("end", () => {
    if (size > 0) hand(lineEnd);
  });
}
