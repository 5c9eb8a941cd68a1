import type { Run, RunStatus } from "#api/kinds/run.ts";
import { encodeRecord, type LogRecord } from "#api/log-record.ts";
import { timestamp } from "#api/time.ts";
import type { LogItem } from "#extension-api/logs/items.ts";
import { type AgentLogs, LogUnavailableError, PodGoneError, type Runs } from "#extension-api/logs/ports.ts";
import { parseLogQuery } from "#extension-api/logs/query.ts";
import {
  createLogService,
  defaultLimits,
  type LogService,
  type LogServiceLimits,
} from "#extension-api/logs/service.ts";
import { type PodLogs, podLogs } from "#extension-api/pod-logs/pod-logs.ts";
import { createClient } from "#kube/client.ts";
import type { Clock } from "#kube/ports.ts";
import { seededRandom } from "#kube/seeded-random.ts";
import { silentLogger } from "#kube/silent-logger.ts";
import { systemClock } from "#kube/system.ts";
import { failure, StatusError } from "#kube/transport.ts";
import { VirtualClock } from "#kube/virtual-clock.ts";
import { AgentFileLog } from "#local/logs/agent-file-log.ts";
import type { LogFile } from "#local/logs/line-file.ts";
import { StoredLog } from "./stored-log.ts";
import { podServer } from "./stored-pods.ts";

export const namespace = "default";

/** Where the logs of agents are: in files of a local cluster, or behind the API server of a real one. */
export const worldKinds = ["file", "pods/log"] as const;
export type WorldKind = (typeof worldKinds)[number];

/** Time that runs a hundred times as fast: what waits for a moment does so, and no test notices. */
function hurried(): Clock {
  const begun = performance.now();
  const elapsed = () => (performance.now() - begun) * 100;
  return {
    now: () => 1_767_225_600_000 + elapsed(),
    monotonic: elapsed,
    after: (ms, fn) => systemClock.after(ms / 100, fn),
  };
}

/** Output of one agent, in memory. */
export class MemoryPod {
  readonly uid: string;
  /** The same as its node keeps it. */
  readonly stored: StoredLog;
  readonly listeners = new Set<() => void>();
  #files = 0;
  #parts: Buffer[] = [];

  constructor(uid: string, startMs: number) {
    this.uid = uid;
    this.stored = new StoredLog(startMs);
  }

  /** Files and streams that readers have open. */
  get open(): number {
    return this.#files + this.stored.open;
  }

  get bytes(): Buffer {
    if (this.#parts.length > 1) this.#parts = [Buffer.concat(this.#parts)];
    return this.#parts[0] ?? Buffer.alloc(0);
  }

  /** Appends what the agent prints; `text` ends its lines itself. */
  print(text: string | Uint8Array): void {
    this.#parts.push(Buffer.from(text as string));
    this.stored.print(Buffer.from(text as string));
    for (const listener of [...this.listeners]) listener();
  }

  /** Removes the oldest bytes, as rotation does. */
  replace(text: string): void {
    this.#parts = [Buffer.from(text)];
    this.stored.rotate();
    this.stored.print(Buffer.from(text));
  }

  file(): LogFile {
    this.#files++;
    return {
      start: () => 0,
      size: () => this.bytes.length,
      read: async (from, to) => this.bytes.subarray(from, to),
      close: () => {
        this.#files--;
      },
    };
  }
}

/** Runs and agents' logs in memory under the real service and the real readers of logs. */
export class LogWorld {
  readonly clock: Clock;
  readonly pods = new Map<string, MemoryPod>();
  readonly service: LogService;
  readonly podLogs: PodLogs;
  /** While set, logs cannot be opened. */
  unavailable = false;
  /** Observers of Runs that are registered. */
  observers = 0;
  readonly #runs = new Map<string, Run>();
  readonly #observers = new Map<string, Set<(run: Run | undefined) => void>>();

  constructor(kind: WorldKind = "file", limits: LogServiceLimits = defaultLimits) {
    this.clock = kind === "file" ? new VirtualClock() : hurried();
    const runs: Runs = {
      get: async (_, name) => {
        const run = this.#runs.get(name);
        if (run === undefined) throw new StatusError(failure(404, "NotFound", `runs.kruntimes.io "${name}" not found`));
        return structuredClone(run);
      },
      observe: (_, name, onChange) => {
        const observers = this.#observers.get(name) ?? new Set();
        this.#observers.set(name, observers);
        observers.add(onChange);
        this.observers++;
        onChange(this.#runs.get(name));
        return () => {
          if (observers.delete(onChange)) this.observers--;
        };
      },
    };
    const files: AgentLogs = {
      open: async ({ name, uid }) => {
        if (this.unavailable) throw new LogUnavailableError("the node does not answer");
        const pod = this.pods.get(name);
        if (pod === undefined || (uid !== undefined && uid !== pod.uid))
          throw new PodGoneError(`Pod ${name} does not exist any more, and its log went with it`);
        const files = { open: () => pod.file(), pipesDrained: async () => {} };
        const onGrowth = (fn: () => void) => {
          pod.listeners.add(fn);
          return () => pod.listeners.delete(fn);
        };
        return new AgentFileLog(pod.uid, { path: name, files, onGrowth });
      },
    };
    const ports = { clock: this.clock, random: seededRandom(1), logger: silentLogger };
    this.podLogs = podLogs({ client: createClient(podServer(this.pods, this)), ...ports });
    const logs = kind === "file" ? files : this.podLogs;
    this.service = createLogService({ runs, logs, clock: this.clock }, limits);
  }

  /** A Pod with that name; its UID is made from the name. */
  pod(name: string): MemoryPod {
    const pod = this.pods.get(name) ?? new MemoryPod(`uid-of-${name}`, this.clock.now());
    this.pods.set(name, pod);
    return pod;
  }

  /** Creates a Run or replaces its status. */
  run(name: string, status: RunStatus = { phase: "Pending" }, uid = `run-${name}`): void {
    const creationTimestamp = timestamp(this.clock.now());
    const run = { metadata: { name, namespace, uid, creationTimestamp }, spec: { runtime: "bash" }, status };
    this.#runs.set(name, run);
    for (const observer of [...(this.#observers.get(name) ?? [])]) observer(structuredClone(run));
  }

  /** The status of a Run that is on a Pod. */
  on(pod: string, more: Partial<RunStatus> = {}): RunStatus {
    return { phase: "Running", attempt: 1, assignedPod: pod, assignedPodUID: this.pod(pod).uid, ...more };
  }

  /** The Pod is deleted, and its log with it. */
  deletePod(name: string): void {
    this.pods.get(name)?.stored.end();
    this.pods.delete(name);
  }

  deleteRun(name: string): void {
    this.#runs.delete(name);
    for (const observer of [...(this.#observers.get(name) ?? [])]) observer(undefined);
  }

  /** The line of one record. */
  line(run: string, seq: number, message: string, more: Partial<LogRecord> = {}): string {
    const time = timestamp(this.clock.now());
    return encodeRecord({ run: `run-${run}`, attempt: 1, seq, time, stream: "stdout", message, ...more });
  }

  snapshot(name: string, query: Record<string, string> = {}) {
    return this.service.snapshot({
      namespace,
      name,
      query: parseLogQuery(query),
      signal: new AbortController().signal,
    });
  }

  async follow(name: string, query: Record<string, string> = {}): Promise<Followed> {
    const leaving = new AbortController();
    const asked = parseLogQuery({ follow: "true", ...query });
    return new Followed(await this.service.follow({ namespace, name, query: asked, signal: leaving.signal }), leaving);
  }
}

/** A stream that somebody reads. */
export class Followed {
  readonly #batches: AsyncIterator<readonly string[]>;
  readonly #leaving: AbortController;
  #items: readonly LogItem[] = [];

  constructor(batches: AsyncIterable<readonly string[]>, leaving: AbortController) {
    this.#batches = batches[Symbol.asyncIterator]();
    this.#leaving = leaving;
  }

  /** The next item; undefined at the end. */
  async next() {
    if (this.#items.length === 0) {
      const { done, value } = await this.#batches.next();
      if (done) return undefined;
      this.#items = value.map((line) => JSON.parse(line) as LogItem);
    }
    const [first, ...others] = this.#items;
    this.#items = others;
    return first;
  }

  /** Everything to the end of the stream. */
  async rest() {
    const items = [];
    for (let item = await this.next(); item !== undefined; item = await this.next()) items.push(item);
    return items;
  }

  /** Goes away, as a caller whose connection closes. */
  async leave(): Promise<void> {
    this.#leaving.abort();
    await this.#batches.return?.();
  }
}
