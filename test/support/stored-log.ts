import { setImmediate as turn } from "node:timers/promises";

interface Line {
  /** Nanoseconds since the epoch. */
  readonly time: bigint;
  readonly text: Buffer;
}

type Query = Readonly<Record<string, string | undefined>>;

/**
 * The log of one container as a node keeps it: each line with the time at which it was taken, one file for each run of the
 * container of which the last two are kept, and of a file that grew too large only what came after it was changed.
 */
export class StoredLog {
  /** Streams that somebody has open. */
  open = 0;
  restarts = 0;
  /** What was asked for. */
  readonly asked: Query[] = [];
  /** While set, streams that follow bring nothing, as those of a kubelet that has missed the end of a file. */
  silent = false;
  /** Pieces in which lines are sent, in bytes. */
  pieceBytes = 4096;
  #now: bigint;
  #count = 0;
  #rest: Buffer[] = [];
  #previous: Line[] | undefined;
  #current: Line[] = [];
  #files = 0;
  readonly #wakes = new Set<() => void>();

  constructor(startMs: number) {
    this.#now = BigInt(Math.round(startMs)) * 1_000_000n;
  }

  /** What the container writes; what is not a whole line waits for its end. */
  print(bytes: Uint8Array): void {
    if (!bytes.includes(10)) {
      this.#rest.push(Buffer.from(bytes));
      return;
    }
    const data = Buffer.concat([...this.#rest, bytes]);
    let from = 0;
    for (let end = data.indexOf(10); end >= 0; end = data.indexOf(10, from)) {
      // Several lines at the same moment, then a jump: within a second and over its border.
      if (++this.#count % 3 === 0) this.#now += 140_000_001n;
      this.#current.push({ time: this.#now, text: Buffer.from(data.subarray(from, end)) });
      from = end + 1;
    }
    this.#rest = [Buffer.from(data.subarray(from))];
    this.#wake();
  }

  /** Milliseconds since the epoch at which the next line is taken, about. */
  get nowMs(): number {
    return Number(this.#now / 1_000_000n);
  }

  /** Lets time pass. */
  pass(ms: number): void {
    this.#now += BigInt(ms) * 1_000_000n;
  }

  /** The container ends and another one begins. */
  restart(): void {
    this.#now += 1_000n;
    this.#previous = this.#current;
    this.#current = [];
    this.#rest = [];
    this.#files++;
    this.restarts++;
    this.#wake();
  }

  /**
   * The file has grown too large and a new one is begun. Followers go over to it at once: what they have not read of the old
   * one they never see.
   */
  rotate(): void {
    this.#now += 1_000n;
    this.#current.length = 0;
    this.#current = [];
    this.#files++;
    this.#wake();
  }

  /** Connections of followers break. */
  cut(): void {
    this.#cuts++;
    this.#wake();
  }
  #cuts = 0;

  /** The Pod is gone. */
  end(): void {
    this.#ended = true;
    this.#wake();
  }
  #ended = false;

  /** The answer to `GET .../log`; undefined when there is no such run of the container. */
  read(query: Query, signal: AbortSignal | undefined): AsyncIterable<Buffer> | undefined {
    this.asked.push(query);
    const file = query.previous === "true" ? this.#previous : this.#current;
    if (file === undefined) return undefined;
    const tail = query.tailLines === undefined ? file.length : Number(query.tailLines);
    const since = query.sinceTime === undefined ? 0n : BigInt(Date.parse(query.sinceTime)) * 1_000_000n;
    const limit = query.limitBytes === undefined ? Number.POSITIVE_INFINITY : Number(query.limitBytes);
    const pieces = limited(limit, this.#pieces(file, file.length - tail, since, query.follow === "true", signal));
    this.open++;
    let open = true;
    const close = () => {
      if (open) this.open--;
      open = false;
    };
    return {
      [Symbol.asyncIterator]: () => ({
        next: async () => {
          const result = await pieces.next().catch((error: unknown) => {
            close();
            throw error;
          });
          if (result.done) close();
          return result;
        },
        return: async () => {
          close();
          this.#wake();
          void pieces.return(undefined);
          return { done: true, value: undefined };
        },
      }),
    };
  }

  async *#pieces(file: Line[], from: number, since: bigint, follow: boolean, signal: AbortSignal | undefined) {
    const cuts = this.#cuts;
    const restarts = this.restarts;
    let lines = file;
    let files = this.#files;
    let at = Math.max(0, from);
    signal?.addEventListener("abort", () => this.#wake(), { once: true });
    for (;;) {
      if (signal?.aborted) return;
      const parts: Buffer[] = [];
      let length = 0;
      while (!(follow && this.silent) && at < lines.length && length < this.pieceBytes * 4) {
        const line = lines[at++];
        if (line === undefined || line.time < since) continue;
        parts.push(Buffer.from(`${stamp(line.time)} `), line.text, newline);
        length += 32 + line.text.length;
      }
      const text = Buffer.concat(parts);
      for (let cut = 0; cut < text.length; cut += this.pieceBytes) yield text.subarray(cut, cut + this.pieceBytes);
      if (this.#cuts !== cuts) throw new Error("the connection broke");
      if (at < lines.length && !(follow && this.silent)) continue;
      if (!follow || this.#ended || this.restarts !== restarts) return;
      if (files !== this.#files) {
        files = this.#files;
        lines = this.#current;
        at = 0;
        continue;
      }
      await new Promise<void>((resolve) => this.#wakes.add(resolve));
      await turn();
    }
  }

  #wake(): void {
    for (const wake of this.#wakes) wake();
    this.#wakes.clear();
  }
}

const newline = Buffer.from("\n");

/** As the kubelet writes it: always nine digits. */
function stamp(time: bigint): string {
  const second = new Date(Number(time / 1_000_000n)).toISOString().slice(0, 19);
  return `${second}.${String(time % 1_000_000_000n).padStart(9, "0")}Z`;
}

/** No more than so many bytes; what is left is not read. */
async function* limited(limit: number, pieces: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  let left = limit;
  for await (const piece of pieces) {
    yield piece.subarray(0, left);
    left -= piece.length;
    if (left <= 0) return;
  }
}
