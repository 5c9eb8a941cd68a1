/** Delivers an event log to one reader at the reader's pace. */
import type { Clock } from "#kube/ports.ts";
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
/**
 * A program that writes many small pieces would cost a message each; within this time after a message they are gathered, unless
 * there is plenty, or the end. The delay is far below what anybody who follows a log would see.
 */
const gatherMs = 5;
const plentyBytes = 64 * 1024;

/** @param known whether the execution is still in the table; asked again after each wait. */
export async function deliver(
  log: EventLog,
  fromSeq: number,
  reader: Reader,
  known: () => boolean,
  clock: Clock,
): Promise<WatchEnd> {
  log.acknowledge(fromSeq - 1);
  const wake = () => log.wake();
  reader.gone.addEventListener("abort", wake);
  try {
    let seq = Math.max(fromSeq, log.firstSeq);
    let lastSent = Number.NEGATIVE_INFINITY;
    while (!reader.gone.aborted && known()) {
      if (seq < log.firstSeq) return "overtaken";
      if (seq > log.lastSeq) {
        if (log.ended) return "complete";
        const before = log.totalCost;
        await log.changed();
        await gather(log, before, lastSent + gatherMs - clock.monotonic(), reader, clock);
        continue;
      }
      const events = log.read(seq, messageBytes);
      seq += events.length;
      const more = reader.write(events);
      lastSent = clock.monotonic();
      if (!more) await reader.drained();
    }
    return "gone";
  } finally {
    reader.gone.removeEventListener("abort", wake);
  }
}

async function gather(log: EventLog, before: number, ms: number, reader: Reader, clock: Clock): Promise<void> {
  let open = ms > 0;
  if (!open) return;
  const cancel = clock.after(ms, () => {
    open = false;
    log.wake();
  });
  while (open && !log.ended && !reader.gone.aborted && log.totalCost - before < plentyBytes) await log.changed();
  cancel();
}
