import { TransportError } from "#kube/transport.ts";

const NEWLINE = 0x0a;

/**
 * JSON values of a stream that separates them by newlines, whatever the pieces it arrives in. Throws
 * {@link TransportError} for a line that is no JSON, is longer than `maxLineBytes`, or breaks off at the end.
 */
export async function* jsonLines<T>(chunks: AsyncIterable<Buffer>, maxLineBytes: number): AsyncGenerator<T> {
  let parts: Buffer[] = [];
  let size = 0;
  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); ; end = chunk.indexOf(NEWLINE, start)) {
      const part = chunk.subarray(start, end < 0 ? chunk.length : end);
      size += part.length;
      if (size > maxLineBytes) throw new TransportError(`a line of the stream is longer than ${maxLineBytes} bytes`);
      if (part.length > 0) parts.push(part);
      if (end < 0) break;
      start = end + 1;
      if (size > 0) yield parse<T>(parts);
      parts = [];
      size = 0;
    }
  }
  if (size > 0) throw new TransportError("the stream broke off within a line");
}

function parse<T>(parts: Buffer[]): T {
  const line = (parts.length === 1 && parts[0] !== undefined ? parts[0] : Buffer.concat(parts)).toString("utf8");
  try {
    return JSON.parse(line) as T;
  } catch (cause) {
    throw new TransportError(`a line of the stream is no JSON: ${line.slice(0, 80)}`, { cause });
  }
}
