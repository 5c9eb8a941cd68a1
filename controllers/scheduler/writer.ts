import type { Run, RunStatus } from "#api/kinds/run.ts";
import { runs } from "#api/resources.ts";
import { withStatus } from "#api/status.ts";
import type { Informer } from "#kube/informer.ts";
import { diffMergePatch } from "#kube/json.ts";
import { type Clock, type Logger, sleep } from "#kube/ports.ts";
import type { Client } from "#kube/resource.ts";
import { isConflict, isNotFound, StatusError, TransportError } from "#kube/transport.ts";
import { settle } from "#machines/lib/settle.ts";
import { restoreRun, runMachine, runStatus } from "#machines/run.ts";
import type { Outcome, Task } from "./engine.ts";
import { observe } from "./observe.ts";

/** Before a write that got no answer is sent again, in milliseconds: twice as long each time, up to the limit. */
const againMs = { first: 1000, most: 16_000 } as const;

/** Between two reads of such a Run that fail, in milliseconds. */
const readAgainMs = 1000;

export interface WriterDeps {
  readonly client: Client;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly informer: Informer<Run>;
  /** Aborted when the scheduler stops: then nothing is waited for. */
  readonly signal: AbortSignal;
  /** Told of every failure that says more about the API server than about the Run. */
  readonly onTrouble: (error: StatusError | TransportError) => void;
}

/**
 * Carries out one decision: steps the machine on the Run as the cache has it now and writes the status once, with the
 * resourceVersion that was read. A conflict means that the decision was made for a Run that is no more.
 */
export async function write(task: Task, deps: WriterDeps): Promise<Outcome> {
  const { clock, informer, logger } = deps;
  const { key, uid } = task.run;
  const run = informer.get(key);
  if (run?.metadata.uid !== uid) return { kind: "superseded" };
  const version = run.metadata.resourceVersion;
  try {
    const status = nextStatus(run, task, clock.now());
    // With its version: the same decision about the same Run would be refused again, without end.
    if (status === undefined) return { kind: "superseded", version };
    return await send(run, withStatus(run, status).status, task, deps);
  } catch (error) {
    logger.error("the status of a Run could not be computed", { run: key, intent: task.intent.kind, error });
    return { kind: "failed" };
  }
}

/**
 * Sends the status until it is known what became of it. A write that got no answer may still be on its way: as long as
 * the Run has not changed the same write is sent again, so that one of the two is answered and the other one conflicts.
 * To give up in between would give away a place that the late write then takes all the same.
 */
async function send(run: Run, status: RunStatus, task: Task, deps: WriterDeps): Promise<Outcome> {
  const { client, clock, informer, logger, signal } = deps;
  const { key, uid, namespace, name } = task.run;
  const version = run.metadata.resourceVersion;
  const patch = { metadata: { uid, resourceVersion: version }, status: diffMergePatch(run.status ?? {}, status) };
  let repeats = 0;
  for (let unanswered = false; ; ) {
    try {
      const written = await client.of(runs).patch({ namespace, name }, patch, { subresource: "status" });
      informer.noteWrite(written, version);
      return { kind: "written" };
    } catch (error) {
      if (!(error instanceof StatusError || error instanceof TransportError)) throw error;
      const superseded = isConflict(error) || isNotFound(error);
      if (superseded && !unanswered) return { kind: "superseded", version };
      logger.warn("the status of a Run could not be written", { run: key, intent: task.intent.kind, error });
      const trouble = error instanceof TransportError || error.code >= 500 || error.code === 429;
      if (trouble) deps.onTrouble(error);
      unanswered ||= error instanceof TransportError;
      const refused = error instanceof StatusError && error.code < 500 && !superseded;
      if (refused && !(unanswered && trouble)) return { kind: "failed" };
      const outcome = await findOut(run, task, deps);
      if (outcome !== "unchanged") return outcome;
      if (!unanswered) return { kind: "failed" };
      await sleep(clock, Math.min(againMs.most, againMs.first * 2 ** repeats++), signal);
      if (signal.aborted) return { kind: "failed" };
    }
  }
}

/** The status that the decision leads to, or undefined when it no longer fits. */
function nextStatus(run: Run, { intent }: Task, now: number): RunStatus | undefined {
  const { snapshot, changed } = settle({
    machine: runMachine,
    snapshot: restoreRun(run.status),
    observe: (seen) => observe({ ...run, status: runStatus(seen) }, intent, now),
  });
  return changed ? runStatus(snapshot) : undefined;
}

/** Nobody knows whether the write took effect: only the object itself can tell, so it is read until it does. */
async function findOut(before: Run, task: Task, deps: WriterDeps): Promise<Outcome | "unchanged"> {
  const { client, clock, signal, logger } = deps;
  const { key, uid, namespace, name } = task.run;
  const version = before.metadata.resourceVersion;
  while (!signal.aborted) {
    try {
      const live = await client.of(runs).get({ namespace, name }, signal);
      if (live.metadata.uid !== uid) return { kind: "superseded", version };
      if (live.metadata.resourceVersion === version) return "unchanged";
      return isOurs(before, live, task) ? { kind: "unseen", version } : { kind: "superseded", version };
    } catch (error) {
      if (isNotFound(error)) return { kind: "superseded", version };
      logger.warn("cannot read a Run whose write got no answer", { run: key, error });
      await sleep(clock, readAgainMs, signal);
    }
  }
  return { kind: "failed" };
}

/** Whether the newer version has our assignment in its history. For other writes it does not matter: nothing is reserved. */
function isOurs(before: Run, live: Run, { intent }: Task): boolean {
  if (intent.kind !== "assign") return true;
  const epoch = (before.status?.assignmentEpoch ?? 0) + 1;
  return (live.status?.assignmentEpoch ?? 0) >= epoch;
}
