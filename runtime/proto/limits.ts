/** Numbers of the contract that both sides must agree on. `runtime.proto` states them in words. */
import type { ExecutionEvent } from "#runtime/executor-client.ts";

/** What an event counts beyond its output, so that a flood of tiny writes is bounded too. */
const eventOverheadBytes = 128;

/** What an event costs against the limits below. */
export function eventCost(event: ExecutionEvent): number {
  return eventOverheadBytes + (event.kind === "output" ? event.bytes.byteLength : 0);
}

/** A server keeps at least this much unacknowledged output for each execution before it pauses the program. */
export const retainedBytes = 256 * 1024;

/** A reader acknowledges at the latest when it has taken this much since its last acknowledgement. */
export const acknowledgeEveryBytes = 128 * 1024;

/** Largest chunk of output in one event. */
export const outputChunkBytes = 64 * 1024;

/** Largest message of either direction: 256 arguments of 8 KiB and as many variables fit with room. */
export const messageBytes = 8 * 1024 * 1024;
