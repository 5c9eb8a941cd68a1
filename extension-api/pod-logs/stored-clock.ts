/** `2006-01-02T15:04:05`, a dot, nine digits, and the zone. */
const secondLength = 19;
const zoneAt = 29;

/** Reads the times before stored lines. Lines come in runs of the same second, so each second is understood once. */
export class StoredClock {
  /** The latest second as it is written, and its zone. */
  #second = Buffer.alloc(0);
  #zone = Buffer.alloc(0);
  /** The same as seconds since the epoch. */
  #epoch = "";

  /** @returns nanoseconds since the epoch, 19 digits; undefined for what is no time */
  read(data: Buffer, start: number, end: number): string | undefined {
    if (!isSame(this.#second, data, start, start + secondLength) || !isSame(this.#zone, data, start + zoneAt, end)) {
      const text = data.toString("latin1", start, end);
      const zone = text.slice(zoneAt);
      const ms =
        text[secondLength] === "." && zone !== "" ? Date.parse(text.slice(0, secondLength) + zone) : Number.NaN;
      if (Number.isNaN(ms) || ms < 1e12) return undefined;
      this.#epoch = String(ms / 1000);
      this.#second = Buffer.from(text.slice(0, secondLength));
      this.#zone = Buffer.from(zone);
    }
    return this.#epoch + data.toString("latin1", start + secondLength + 1, start + zoneAt);
  }
}

const isSame = (known: Buffer, data: Buffer, start: number, end: number): boolean =>
  known.length === end - start && data.compare(known, 0, known.length, start, end) === 0;
