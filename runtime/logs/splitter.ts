import { isUtf8 } from "node:buffer";
import { maxMessageBytes } from "#api/log-record.ts";

/** What one record will hold. */
export interface Piece {
  /** Without the newline. */
  readonly bytes: Uint8Array;
  /** No newline follows: the line goes on in the next piece, or the stream ended without one. */
  readonly partial: boolean;
}

const newline = 0x0a;

/**
 * Cuts one stream of output into lines, and lines into pieces that fit a record. Nothing is lost or added: joining the pieces,
 * with a newline after each that is not partial, gives the input, whatever the chunks were.
 *
 * A piece of UTF-8 text is as long as its JSON form may be, and ends between characters. Other bytes are cut shorter, for base64.
 */
export class LineSplitter {
  #pending: Buffer = Buffer.alloc(0);

  /** Bytes that wait for the end of their line. */
  get pendingBytes(): number {
    return this.#pending.length;
  }

  /** Takes a chunk; returns the pieces that are complete now. */
  push(chunk: Uint8Array): Piece[] {
    const data = this.#pending.length === 0 ? viewOf(chunk) : Buffer.concat([this.#pending, chunk]);
    const pieces: Piece[] = [];
    let start = 0;
    for (let end = data.indexOf(newline); end >= 0; end = data.indexOf(newline, start)) {
      start = cutFull(data, start, end, pieces);
      pieces.push({ bytes: data.subarray(start, end), partial: false });
      start = end + 1;
    }
    start = cutFull(data, start, data.length, pieces);
    this.#pending = data.subarray(start);
    return pieces;
  }

  /**
   * Gives out what waits, for a prompt or progress that ends without a newline. The beginning of a character is kept back
   * until its rest arrives.
   */
  flush(): Piece[] {
    const cut = characterStart(this.#pending, 0, this.#pending.length);
    const complete = isIncomplete(this.#pending.subarray(cut)) ? cut : this.#pending.length;
    if (complete === 0) return [];
    const bytes = this.#pending.subarray(0, complete);
    this.#pending = this.#pending.subarray(complete);
    return [{ bytes, partial: true }];
  }

  /** The rest, at the end of the stream. */
  end(): Piece[] {
    if (this.#pending.length === 0) return [];
    const bytes = this.#pending;
    this.#pending = Buffer.alloc(0);
    return [{ bytes, partial: true }];
  }
}

const viewOf = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);

/** Moves full pieces of `data[start, end)` to `pieces`; what remains fits into one piece. Returns where it starts. */
function cutFull(data: Buffer, start: number, end: number, pieces: Piece[]): number {
  for (let at = start; ; ) {
    const length = pieceLength(data, at, end);
    if (at + length === end) return at;
    pieces.push({ bytes: data.subarray(at, at + length), partial: true });
    at += length;
  }
}

/** No byte needs more than six in JSON, or four thirds in base64. */
const shortBytes = Math.floor(maxMessageBytes / 6);

/** Longest prefix of `data[start, end)` that fits a message. */
function pieceLength(data: Buffer, start: number, end: number): number {
  // Nearly every line: it fits whatever its bytes are.
  if (end - start <= shortBytes) return end - start;
  if (jsonFits(data, start, end) && isUtf8(data.subarray(start, end))) return end - start;
  let room = maxMessageBytes;
  let at = start;
  for (; at < end; at++) {
    room -= jsonCost(data[at] ?? 0);
    if (room < 0) break;
  }
  const textEnd = at === end ? end : betweenCharacters(data, start, at);
  if (isUtf8(data.subarray(start, textEnd))) return textEnd - start;
  const binary = Math.floor(maxMessageBytes / 4) * 3;
  // Also here between characters where possible, so that one bad byte does not turn the rest of a long line into base64.
  return end - start <= binary ? end - start : betweenCharacters(data, start, start + binary) - start;
}

/** Whether the JSON form of a text fits a message, whatever the encoding of its bytes is: of latin1 it has as many characters. */
function jsonFits(data: Buffer, start: number, end: number): boolean {
  const fits = end - start <= maxMessageBytes;
  return fits && JSON.stringify(data.toString("latin1", start, end)).length - 2 <= maxMessageBytes;
}

/** Bytes that JSON needs for a byte of UTF-8 text. */
function jsonCost(byte: number): number {
  if (byte >= 0x20) return byte === 0x22 || byte === 0x5c ? 2 : 1;
  return byte >= 0x08 && byte <= 0x0d && byte !== 0x0b ? 2 : 6;
}

/** `at`, or up to three bytes before it when a character would be cut there. */
function betweenCharacters(data: Buffer, start: number, at: number): number {
  for (let back = at; back > start && back > at - 4; back--) {
    if (((data[back] ?? 0) & 0xc0) !== 0x80) return back;
  }
  return at;
}

/** Where the last character of `data[start, end)` starts. */
function characterStart(data: Buffer, start: number, end: number): number {
  for (let at = end - 1; at >= start && at >= end - 4; at--) {
    if (((data[at] ?? 0) & 0xc0) !== 0x80) return at;
  }
  return end;
}

/** Whether bytes are the beginning of one UTF-8 character, but not all of it. */
function isIncomplete(bytes: Buffer): boolean {
  const lead = bytes[0] ?? 0;
  const length =
    lead >= 0xf0 && lead < 0xf8 ? 4 : lead >= 0xe0 && lead < 0xf0 ? 3 : lead >= 0xc2 && lead < 0xe0 ? 2 : 1;
  return bytes.length < length;
}
