import { formatDuration } from "#api/duration.ts";
import { hash8 } from "#api/hash.ts";
import type { Run } from "#api/kinds/run.ts";
import { timeoutOf } from "#api/runs.ts";
import { parseTime } from "#api/time.ts";
import type { AttemptEvent } from "#machines/attempt.ts";
import { collectArtifacts } from "#runtime/artifacts/collect.ts";
import { impatientStore } from "#runtime/artifacts/impatient-store.ts";
import { ArtifactInputError, stageInputs } from "#runtime/artifacts/stage.ts";
import { ArtifactInvalidError, type ArtifactStore, StoreUnavailableError } from "#runtime/artifacts/store.ts";
import type { RunLayout } from "#runtime/files/layout.ts";
import { FilesError } from "#runtime/files/port.ts";
import { readOutputsFile } from "#runtime/files/runs.ts";
import { outputReadBytes, parseOutputs } from "#runtime/outputs/parse.ts";
import { type AgentDeps, type Pools, storePatienceMs } from "./deps.ts";
import { patiently } from "./patience.ts";

/** Puts the artifact inputs of the Run in place; a store that is down is asked again until the Run is out of time. */
export async function stage(
  deps: AgentDeps,
  pools: Pools,
  run: Run,
  layout: RunLayout,
  signal: AbortSignal,
): Promise<AttemptEvent> {
  const { artifactInputs: inputs = [] } = run.spec;
  if (inputs.length === 0) return { type: "STAGED" };
  const request = { inputs, layout, owner: stagingOwner(run), limits: deps.artifactLimits.tree, signal };
  try {
    await whileStoreIsDown(deps, run, signal, () =>
      pools.transfer.run((hold) => stageInputs(deps.files, impatient(deps, run, signal, hold), request), signal),
    );
    return { type: "STAGED" };
  } catch (error) {
    signal.throwIfAborted();
    const message = error instanceof Error ? error.message : String(error);
    if (error instanceof StoreUnavailableError) return { type: "FAILED", reason: "ArtifactStoreUnavailable", message };
    if (error instanceof ArtifactInputError) return { type: "FAILED", reason: "ArtifactInputFailed", message };
    throw error;
  }
}

/**
 * Who stages, as one text for all attempts of the same work, also when each attempt is a Run of its own: the owner of
 * the Run (itself, if it has none) and what it is to do.
 */
function stagingOwner({ metadata, spec }: Run): string {
  const owner = metadata.ownerReferences?.find(({ controller }) => controller)?.uid ?? metadata.uid ?? "";
  return `${owner}/${hash8([spec.workspace?.name, spec.source, spec.mode, spec.artifactInputs])}`;
}

/**
 * Reads what the program left: outputs, and how many artifacts there are to store.
 * @param secrets values that must not become visible in the status
 */
export async function collect(deps: AgentDeps, layout: RunLayout, secrets: readonly string[]): Promise<AttemptEvent> {
  try {
    const parsed = parseOutputs(await readOutputsFile(deps.files, layout, outputReadBytes));
    if (!parsed.ok) return { type: "FAILED", reason: parsed.reason, message: parsed.message };
    const leak = revealedBy(parsed.outputs, secrets);
    if (leak !== undefined) return { type: "FAILED", reason: "OutputsInvalid", message: leak };
    const artifacts = await countArtifacts(deps, layout);
    return { type: "COLLECTED", outputs: { ...parsed.outputs }, artifacts };
  } catch (error) {
    if (!(error instanceof FilesError)) throw error;
    return { type: "FAILED", reason: "OutputsInvalid", message: `the outputs file cannot be read: ${error.message}` };
  }
}

/** Shorter values of Secrets (a user name, a port) may well stand in an output by chance. */
const minRevealedChars = 8;

/** What is wrong with outputs that hold a secret; undefined when none does. */
function revealedBy(outputs: Readonly<Record<string, string>>, secrets: readonly string[]): string | undefined {
  const values = secrets.map((secret) => secret.trim()).filter(({ length }) => length >= minRevealedChars);
  const holds = (text: string) => values.some((value) => text.includes(value));
  const [name, text] = Object.entries(outputs).find((output) => output.some(holds)) ?? [];
  if (name === undefined || text === undefined) return undefined;
  const which = holds(name) ? "the name of an output" : `output "${name}"`;
  return `${which} holds the value of a Secret, and everybody who reads Runs would see it; write it to a file instead`;
}

/** Too many, or a directory that was replaced by something else, are for the upload to refuse. */
async function countArtifacts(deps: AgentDeps, layout: RunLayout): Promise<number> {
  try {
    return (await deps.files.list(layout.artifacts, deps.artifactLimits.artifacts)).length;
  } catch (error) {
    if (error instanceof FilesError && error.code === "Missing") return 0;
    if (error instanceof FilesError) return 1;
    throw error;
  }
}

/**
 * How long after its time limit a Run may go on storing artifacts, milliseconds: 60 s after the limit the controller takes an agent
 * that has said nothing for lost, and the Run away from it.
 */
const afterLimitMs = 50_000;
/** An agent that was restarted after that still tries for so long. */
const leastMs = 5000;

/** When storing artifacts is given up, milliseconds since the epoch; never without a time limit. */
function uploadDeadline(run: Run, now: number): number {
  const timeout = timeoutOf(run.spec);
  if (timeout === undefined) return Number.POSITIVE_INFINITY;
  return Math.max((parseTime(run.status?.startTime) ?? now) + timeout + afterLimitMs, now + leastMs);
}

/** Stores what the program left in its artifacts directory. */
export async function upload(
  deps: AgentDeps,
  pools: Pools,
  run: Run,
  layout: RunLayout,
  ended: AbortSignal,
): Promise<AttemptEvent> {
  const { clock } = deps;
  const late = new AbortController();
  const signal = AbortSignal.any([ended, late.signal]);
  const given = formatDuration(afterLimitMs);
  const tooLate = `the artifacts were not stored within ${given} after the time limit; raise spec.timeout`;
  const left = uploadDeadline(run, clock.now()) - clock.now();
  const cancel = Number.isFinite(left)
    ? clock.after(left, () => late.abort(new StoreUnavailableError(tooLate)))
    : undefined;
  const request = {
    directory: layout.artifacts,
    runUid: run.metadata.uid ?? "",
    runtime: deps.self.runtime,
    limits: deps.artifactLimits,
    now: () => deps.clock.now(),
    signal,
  };
  try {
    const refs = await whileStoreIsDown(deps, run, signal, () =>
      pools.transfer.run((hold) => collectArtifacts(deps.files, impatient(deps, run, signal, hold), request), signal),
    );
    return { type: "UPLOADED", artifactRefs: [...refs] };
  } catch (thrown) {
    ended.throwIfAborted();
    // A transfer that was cut off fails in many ways.
    const error = late.signal.aborted ? late.signal.reason : thrown;
    const message = error instanceof Error ? error.message : String(error);
    if (error instanceof ArtifactInvalidError) return { type: "FAILED", reason: "ArtifactInvalid", message };
    if (error instanceof StoreUnavailableError) return { type: "FAILED", reason: "ArtifactStoreUnavailable", message };
    throw error;
  } finally {
    cancel?.();
  }
}

/** A store that hangs is given up after this time at the soonest, milliseconds: also a Run that is out of time may store its result. */
const minStallMs = 60_000;

/** A Run does not wait for a store that hangs; the place of its transfer stays taken until the store lets go. */
function impatient(
  { store, clock }: AgentDeps,
  run: Run,
  signal: AbortSignal,
  hold: (work: Promise<unknown>) => void,
): ArtifactStore | undefined {
  const timeout = timeoutOf(run.spec);
  const start = parseTime(run.status?.startTime) ?? clock.now();
  const leftMs = () => (timeout === undefined ? storePatienceMs : start + timeout - clock.now());
  const stallMs = () => Math.min(storePatienceMs, Math.max(minStallMs, leftMs()));
  return store === undefined ? undefined : impatientStore(store, { clock, signal, stallMs, hold });
}

function whileStoreIsDown<T>(deps: AgentDeps, run: Run, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  const timeout = timeoutOf(run.spec);
  const start = parseTime(run.status?.startTime) ?? deps.clock.now();
  return patiently(work, {
    clock: deps.clock,
    random: deps.random,
    signal,
    isTransient: (error) => error instanceof StoreUnavailableError,
    until: timeout === undefined ? deps.clock.now() + storePatienceMs : start + timeout,
    baseMs: 200,
    maxMs: 10_000,
  });
}
