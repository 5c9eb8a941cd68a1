/** Delivers an event log to one reader at the reader's pace. */
import type { EventLog } from "#runtime/executor/event-log.ts";
import type { ExecutionEvent } from "#runtime/executor-client.ts";

export interface Reader {
  /** False: it has enough for now; `drained` tells when it takes more. */
  write(events: readonly ExecutionEvent[]): boolean;
  drained(): Promise<void>;
  /** Aborted when the reader is gone. */
  readonly gone: AbortSignal;
}

/**
 * - `complete`: the reader got the `exited` event.
 * - `gone`: the reader went away, or the execution was forgotten.
 * - `overtaken`: another reader acknowledged what this one had not been sent yet.
 */
export type WatchEnd = "complete" | "gone" | "overtaken";

/** Several small events travel in one message of about this size. */
const messageBytes = 64 * 1024;

/** @param known whether the execution is still in the table; asked again after each wait. */
export async function deliver(log: EventLog, fromSeq: number, reader: Reader, known: () => boolean): Promise<WatchEnd> {
  log.acknowledge(fromSeq - 1);
  const wake = () => log.wake();
  reader.gone.addEventListener("abort", wake);
  try {
    let seq = Math.max(fromSeq, log.firstSeq);
    while (!reader.gone.aborted && known()) {
      if (seq < log.firstSeq) return "overtaken";
      const events = log.read(seq, messageBytes);
      if (events.length === 0) {
        if (log.ended) return "complete";
        await log.changed();
        continue;
      }
      seq += events.length;
      if (!reader.write(events)) await reader.drained();
    }
    return "gone";
  } finally {
    reader.gone.removeEventListener("abort", wake);
  }
}
