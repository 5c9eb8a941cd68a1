import type { Run } from "#api/kinds/run.ts";
import type { WorkflowRun } from "#api/kinds/workflow-run.ts";
import { podPorts } from "#api/pod-layout.ts";
import { backoff } from "#kube/backoff.ts";
import { statusError } from "#kube/http-status.ts";
import { type Clock, type Random, sleep } from "#kube/ports.ts";
import type { Client } from "#kube/resource.ts";
import { StatusError, TransportError } from "#kube/transport.ts";
import { readersOf } from "./artifact-pods.ts";
import { type ArtifactEntry, agentPath, artifactsOfRun, artifactsOfWorkflowRun } from "./artifact-refs.ts";
import { Download, type DownloadFiles } from "./download.ts";
import { getOver, type HttpAnswer } from "./http-over.ts";
import { forwardPort } from "./port-forward.ts";

export type { ArtifactEntry } from "./artifact-refs.ts";
export { ArtifactDamagedError } from "./download.ts";

/** Artifacts of Runs and WorkflowRuns, read through the API server with the caller's own identity. */
export interface Artifacts {
  ofRun(run: Run): ArtifactEntry[];
  ofWorkflowRun(run: WorkflowRun): ArtifactEntry[];
  /**
   * Downloads into a file. What arrives is kept beside it under a hidden name until size and digest are verified, so an
   * interrupted download goes on where it was, and the file is there whole or not at all.
   *
   * @throws ArtifactNotReadableError, ArtifactDamagedError, StatusError, TransportError
   */
  download(entry: ArtifactEntry, path: string, options?: DownloadOptions): Promise<void>;
}

export interface DownloadOptions {
  /** Replaces a file that is there; default: it is an error. */
  readonly overwrite?: boolean;
  readonly signal?: AbortSignal | undefined;
  /** Told how many bytes are there, of how many. */
  readonly onProgress?: ((bytes: number, of: number) => void) | undefined;
}

/** The artifact cannot be read now, or not to that file; the message says what to do. */
export class ArtifactNotReadableError extends Error {
  override readonly name = "ArtifactNotReadableError";
}

export interface ArtifactsDeps {
  readonly client: Client;
  readonly files: DownloadFiles;
  readonly clock: Clock;
  readonly random: Random;
}

/** Tries in a row that bring no byte, after which the last error is the caller's. */
const maxFruitless = 5;

/** Pauses between tries in milliseconds, doubled from the first to the longest. */
const firstPauseMs = 200;
const longestPauseMs = 5000;

export function createArtifacts(deps: ArtifactsDeps): Artifacts {
  return {
    ofRun: artifactsOfRun,
    ofWorkflowRun: artifactsOfWorkflowRun,
    async download(entry, path, options = {}) {
      await refuseExisting(deps, path, options);
      const file = await deps.files.openPartial(path, entry.ref.digest.slice("sha256:".length, 20));
      let left = () => file.close();
      try {
        const download = await Download.begin(entry.ref, file);
        do await receive(deps, entry, download, options);
        while (!(await download.verify()));
        await refuseExisting(deps, path, options);
        left = () => file.finish();
      } catch (error) {
        // Wrong bytes are of no use to a later try.
        if (error instanceof Error && error.name === "ArtifactDamagedError") left = () => file.discard();
        throw error;
      } finally {
        await left();
      }
    },
  };
}

async function refuseExisting({ files }: ArtifactsDeps, path: string, { overwrite }: DownloadOptions): Promise<void> {
  if (overwrite || !(await files.exists(path))) return;
  throw new ArtifactNotReadableError(`${path} exists; name another file, or overwrite it`);
}

/** Asks one Pod after the other until everything is there, or nothing comes any more. */
async function receive(
  deps: ArtifactsDeps,
  entry: ArtifactEntry,
  download: Download,
  { signal, onProgress }: DownloadOptions,
): Promise<void> {
  for (let tries = 0, fruitless = 0; !download.complete; tries++) {
    const before = download.size;
    try {
      await download.receive((start) => open(deps, entry, start, tries, { signal, onProgress }));
      if (!download.complete) throw new TransportError("the connection ended before the artifact did");
    } catch (error) {
      signal?.throwIfAborted();
      fruitless = download.size > before ? 0 : fruitless + 1;
      if (!isTransient(error) || fruitless >= maxFruitless) throw error;
      const asked = error instanceof StatusError ? (error.retryAfterMs ?? 0) : 0;
      const pauseMs = Math.max(asked, backoff(Math.max(1, fruitless), firstPauseMs, longestPauseMs, deps.random));
      await sleep(deps.clock, pauseMs, signal);
      signal?.throwIfAborted();
    }
  }
}

/** The bytes from `start` on, from one of the Pods that have the store. */
async function open(
  { client, clock }: ArtifactsDeps,
  entry: ArtifactEntry,
  start: number,
  tries: number,
  { signal, onProgress }: DownloadOptions,
): Promise<AsyncIterable<Uint8Array>> {
  const { ref, holder } = entry;
  const path = agentPath(entry);
  if (path === undefined) throw new ArtifactNotReadableError(`the reference of artifact ${ref.name} leads nowhere`);
  const readers = await readersOf(client, holder.namespace, ref, signal);
  if ("problem" in readers) throw new ArtifactNotReadableError(readers.problem);
  const pod = readers.pods[tries % readers.pods.length] ?? "";
  const connection = await forwardPort(
    client.transport,
    { namespace: holder.namespace, name: pod },
    podPorts.artifacts,
    signal,
  );
  const headers = { "if-match": `"${ref.digest}"`, ...(start > 0 && { range: `bytes=${start}-` }) };
  const answer = await getOver(connection, path, headers, signal);
  if (answer.code !== (start > 0 ? 206 : 200)) {
    throw await refusal(`artifact ${ref.name} from Pod ${pod}`, answer, clock.now());
  }
  return counted(answer.body, start, ref.sizeBytes, onProgress);
}

async function* counted(
  body: AsyncIterable<Uint8Array>,
  start: number,
  of: number,
  onProgress: DownloadOptions["onProgress"],
): AsyncGenerator<Uint8Array> {
  let bytes = start;
  try {
    for await (const chunk of body) {
      yield chunk;
      bytes += chunk.length;
      onProgress?.(bytes, of);
    }
  } catch (error) {
    throw new TransportError(`the connection broke: ${error instanceof Error ? error.message : error}`, {
      cause: error,
    });
  }
}

/** An answer that is not the artifact. */
async function refusal(what: string, { code, headers, body }: HttpAnswer, now: number): Promise<Error> {
  const parts: Uint8Array[] = [];
  for await (const part of body) parts.push(part);
  const retryAfter = headers["retry-after"];
  const text = Buffer.concat(parts).toString("utf8");
  return statusError(what, code, text, Array.isArray(retryAfter) ? retryAfter[0] : retryAfter, now);
}

/** Whether another try, perhaps at another Pod, may have the answer. */
function isTransient(error: unknown): boolean {
  if (error instanceof TransportError) return true;
  return error instanceof StatusError && (error.code === 429 || error.code >= 500);
}
