import type { Writable } from "node:stream";
import { encodeRecords } from "#api/log-lines.ts";
import type { LogRecord } from "#api/log-record.ts";
import type { LogSink } from "#runtime/logs/sink.ts";

/**
 * A sink that writes lines to a stream, usually `process.stdout`: on a pipe it queues what does not fit and says when there is
 * room again. What is queued is lost when the process exits, so the writes are awaited before.
 */
export function createStreamSink(stream: Writable): LogSink {
  return new StreamSink(stream);
}

class StreamSink implements LogSink {
  readonly #stream: Writable;
  #broken: Error | undefined;
  /** Shared by all Runs that wait, so that hundreds of them do not mean hundreds of listeners. */
  #room: PromiseWithResolvers<void> | undefined;
  readonly #flushing = new Set<PromiseWithResolvers<void>>();

  constructor(stream: Writable) {
    this.#stream = stream;
    stream.on("drain", () => this.#settle());
    stream.on("error", (error) => this.#break(error));
    stream.on("close", () => this.#break(new Error("the log stream is closed")));
  }

  async write(records: readonly LogRecord[]): Promise<void> {
    if (this.#broken !== undefined) throw this.#broken;
    if (this.#stream.write(encodeRecords(records))) return;
    this.#room ??= Promise.withResolvers<void>();
    await this.#room.promise;
  }

  flush(): Promise<void> {
    if (this.#broken !== undefined) return Promise.reject(this.#broken);
    if (this.#stream.writableLength === 0) return Promise.resolve();
    const flushed = Promise.withResolvers<void>();
    this.#flushing.add(flushed);
    this.#stream.write("", (error) => (error ? flushed.reject(error) : flushed.resolve()));
    return flushed.promise.finally(() => this.#flushing.delete(flushed));
  }

  #settle(): void {
    this.#room?.resolve();
    this.#room = undefined;
  }

  #break(error: Error): void {
    this.#broken ??= error;
    this.#room?.reject(this.#broken);
    this.#room = undefined;
    // A stream that is destroyed within a write calls back for none that waits behind it.
    for (const { reject } of this.#flushing) reject(this.#broken);
  }
}
