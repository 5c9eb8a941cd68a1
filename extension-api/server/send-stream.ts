import type { Clock } from "#kube/ports.ts";

/** A reader who takes nothing for so long, while there is something for it, is cut off; in milliseconds. */
const stalledMs = 60_000;

/** Where a stream goes: what this file needs of a response of Node's HTTP server. */
export interface Outgoing {
  readonly destroyed: boolean;
  write(bytes: Uint8Array): boolean;
  end(): unknown;
  destroy(): unknown;
  once(event: "drain" | "close", fn: () => void): unknown;
  off(event: "drain" | "close", fn: () => void): unknown;
}

/**
 * Writes a stream of records, which are lines without their ends, as fast as the reader takes them. Resolves when it is written or the reader is gone.
 *
 * @param sent told the records and bytes of each write
 */
export async function sendStream(
  batches: AsyncIterable<readonly string[]>,
  outgoing: Outgoing,
  clock: Clock,
  sent: (records: number, bytes: number) => void,
): Promise<void> {
  for await (const batch of batches) {
    if (outgoing.destroyed) return;
    const bytes = Buffer.from(`${batch.join("\n")}\n`);
    sent(batch.length, bytes.length);
    if (!outgoing.write(bytes) && !(await room(outgoing, clock))) return;
  }
  outgoing.end();
}

/** Resolves with true when there is room again, with false when the reader is gone or takes nothing. */
function room(outgoing: Outgoing, clock: Clock): Promise<boolean> {
  return new Promise((resolve) => {
    const settle = (has: boolean) => {
      cancel();
      outgoing.off("drain", drained);
      outgoing.off("close", closed);
      resolve(has);
    };
    const drained = () => settle(true);
    const closed = () => settle(false);
    const cancel = clock.after(stalledMs, () => {
      settle(false);
      outgoing.destroy();
    });
    outgoing.once("drain", drained);
    outgoing.once("close", closed);
  });
}
