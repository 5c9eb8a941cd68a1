/** Small helpers of the conformance checks. */
import assert from "node:assert/strict";
import { type Clock, sleep } from "#kube/ports.ts";
import { systemClock } from "#kube/system-clock.ts";
import type {
  ExecutionEvent,
  ExecutionExit,
  ExecutionId,
  ExecutionSummary,
  ExecutorClient,
} from "#runtime/executor-client.ts";

/** All events of an execution from `fromSeq` on. */
export async function eventsOf(client: ExecutorClient, id: ExecutionId, fromSeq = 0): Promise<ExecutionEvent[]> {
  const events: ExecutionEvent[] = [];
  await client.watch(id, fromSeq, (event) => {
    events.push(event);
  });
  return events;
}

/** The end of an execution, which must be its last event and its only end. */
export function exitOf(events: readonly ExecutionEvent[]): ExecutionExit {
  const exits = events.filter((event) => event.kind === "exited");
  assert.equal(exits.length, 1, "exactly one exited event");
  const last = events.at(-1);
  assert.ok(last?.kind === "exited", "the exited event is the last");
  return last.exit;
}

export function outputOf(events: readonly ExecutionEvent[], stream: "stdout" | "stderr" = "stdout"): Buffer {
  return Buffer.concat(
    events.flatMap((event) => (event.kind === "output" && event.stream === stream ? [event.bytes] : [])),
  );
}

export async function find(client: ExecutorClient, id: ExecutionId): Promise<ExecutionSummary | undefined> {
  return (await client.list()).find((entry) => entry.runUid === id.runUid && entry.attempt === id.attempt);
}

/** Looks again and again until the condition holds. */
export async function until(what: string, holds: () => Promise<boolean>, clock: Clock = systemClock): Promise<void> {
  const deadline = clock.monotonic() + 10_000;
  while (!(await holds())) {
    assert.ok(clock.monotonic() < deadline, `waited 10 s in vain until ${what}`);
    await sleep(clock, 5);
  }
}

/** Waits until its first output is there, so that its traps are set. */
export function untilFirstOutput(client: ExecutorClient, id: ExecutionId): Promise<void> {
  return until("the program has printed something", async () => ((await find(client, id))?.lastSeq ?? 0) >= 2);
}
