import type { Readable } from "node:stream";

const newline = 0x0a;

/** A longer line comes in pieces, as the kubelet cuts it; records of our log are shorter than 16 KiB. */
const maxLineBytes = 64 * 1024;

/**
 * Hands on what a process prints, line by line, without the newline. Only a newline ends a line: `node:readline` takes
 * U+2028 and a carriage return for ends too, and would cut a record in whose text they stand.
 */
export function followLines(stream: Readable, onLine: (line: string) => void): void {
  let pieces: Buffer[] = [];
  let size = 0;
  const hand = () => {
    const line = Buffer.concat(pieces).toString("utf8");
    pieces = [];
    size = 0;
    onLine(line);
  };
  stream.on("data", (chunk: Buffer) => {
    let start = 0;
    for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, start)) {
      pieces.push(chunk.subarray(start, end));
      hand();
      start = end + 1;
    }
    const rest = chunk.subarray(start);
    pieces.push(rest);
    size += rest.length;
    if (size > maxLineBytes) hand();
  });
  stream.on("end", () => {
    if (size > 0) hand();
  });
}
