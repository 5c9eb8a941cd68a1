/** One program that is data, run under a Clock with the retention and back-pressure of a real one. */
import { type Cancel, type Clock, sleep } from "#kube/ports.ts";
import { EventLog } from "#runtime/executor/event-log.ts";
import {
  type ExecuteRequest,
  type ExecutionEvent,
  type ExecutionExit,
  type ExecutionId,
  ExecutionNotFoundError,
  type ExecutionSummary,
  ExecutorUnavailableError,
  type KillCause,
} from "#runtime/executor-client.ts";
import { outputChunkBytes } from "#runtime/proto/limits.ts";
import { type SimulatedProgram, type SimulatedStep, stepsOf } from "#runtime/simulated-program.ts";

export interface SimulatedWorld {
  readonly clock: Clock;
  readonly retainedBytes: number;
  readonly writeFile: (path: string, content: Uint8Array) => Promise<void>;
}

export class SimulatedExecution {
  readonly id: ExecutionId;
  readonly #request: ExecuteRequest;
  readonly #program: SimulatedProgram;
  readonly #world: SimulatedWorld;
  readonly #startTime: number;
  readonly #log: EventLog;
  /** Aborted when the program stops doing anything: killed, or its executor gone. */
  readonly #stop = new AbortController();
  readonly #ended = Promise.withResolvers<void>();
  #room = Promise.withResolvers<void>();
  #exit: { readonly exit: ExecutionExit; readonly time: number } | undefined;
  #kill: { readonly cause: KillCause; cancelTimer: Cancel; due: number } | undefined;
  #gone: "forgotten" | "crashed" | undefined;

  constructor(request: ExecuteRequest, program: SimulatedProgram, world: SimulatedWorld) {
    this.id = { runUid: request.runUid, attempt: request.attempt };
    this.#request = request;
    this.#program = program;
    this.#world = world;
    this.#startTime = world.clock.now();
    this.#log = new EventLog(world.retainedBytes, () => {
      this.#room.resolve();
      this.#room = Promise.withResolvers();
    });
  }

  get over(): boolean {
    return this.#exit !== undefined;
  }

  start(): void {
    const { startFailure } = this.#program;
    if (startFailure !== undefined) {
      this.#end({ cause: "start-failed", exitCode: startFailure.exitCode, message: startFailure.message });
      return;
    }
    this.#log.started(this.#world.clock.now());
    void this.#run();
  }

  summary(): ExecutionSummary {
    const known = { ...this.id, startTime: this.#startTime, lastSeq: this.#log.lastSeq };
    return this.#exit === undefined ? known : { ...known, exit: this.#exit.exit, exitTime: this.#exit.time };
  }

  /** The reading side: see `watch` of the port. */
  async deliver(
    fromSeq: number,
    onEvent: (event: ExecutionEvent) => void | Promise<void>,
    signal: AbortSignal | undefined,
    taken: (() => number) | undefined,
  ): Promise<void> {
    this.#log.acknowledge(fromSeq - 1);
    const wake = () => this.#log.wake();
    signal?.addEventListener("abort", wake);
    try {
      for (let seq = Math.max(fromSeq, this.#log.firstSeq); !signal?.aborted; ) {
        if (this.#gone === "crashed") throw new ExecutorUnavailableError("the simulated executor crashed");
        if (this.#gone === "forgotten") throw new ExecutionNotFoundError(this.id);
        const [event] = this.#log.read(seq, 1);
        if (event === undefined) {
          if (this.#log.ended) return;
          await this.#log.changed();
          continue;
        }
        await onEvent(event);
        this.#log.acknowledge(taken?.() ?? event.seq);
        seq = event.seq + 1;
      }
    } finally {
      signal?.removeEventListener("abort", wake);
    }
  }

  kill(graceMs: number, cause: KillCause): Promise<void> {
    if (this.over) return Promise.resolve();
    const { clock } = this.#world;
    const due = clock.now() + graceMs;
    if (this.#kill === undefined) {
      this.#kill = { cause, cancelTimer: () => {}, due: Number.POSITIVE_INFINITY };
      if (graceMs > 0) this.#sigterm();
    }
    if (!this.over && due < this.#kill.due) {
      this.#kill.cancelTimer();
      this.#kill.due = due;
      if (graceMs <= 0) this.#sigkill();
      else this.#kill.cancelTimer = clock.after(graceMs, () => this.#sigkill());
    }
    return this.#ended.promise;
  }

  /** The executor is gone with everything in it; nobody learns of an end. */
  vanish(): void {
    this.#gone = "crashed";
    this.#stop.abort();
    this.#kill?.cancelTimer();
    this.#log.wake();
    this.#ended.resolve();
  }

  forget(): void {
    this.#gone = "forgotten";
    this.#log.wake();
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop;
    let now = 0;
    const until = async (atMs: number) => {
      if (atMs > now) await sleep(this.#world.clock, atMs - now, signal);
      now = Math.max(now, atMs);
    };
    for (const step of stepsOf(this.#program)) {
      await until(step.atMs);
      if (signal.aborted) return;
      try {
        await this.#perform(step);
      } catch (error) {
        this.#fail(step, error);
      }
      if (signal.aborted) return;
    }
    await until(this.#program.durationMs);
    if (signal.aborted) return;
    const { exitCode = 0, signal: killedBy, outOfMemory = false } = this.#program;
    this.#end({ cause: "exited", outOfMemory, ...(killedBy === undefined ? { exitCode } : { signal: killedBy }) });
  }

  async #perform(step: SimulatedStep): Promise<void> {
    if (step.kind === "file") {
      await this.#world.writeFile(this.#resolve(step.path), step.content);
      return;
    }
    for (let at = 0; at < step.data.byteLength; at += outputChunkBytes) {
      while (this.#log.full && !this.#stop.signal.aborted)
        await Promise.race([this.#room.promise, this.#ended.promise]);
      if (this.#stop.signal.aborted) return;
      this.#log.output(this.#world.clock.now(), step.stream, step.data.subarray(at, at + outputChunkBytes));
    }
  }

  /** As a shell command whose redirection fails. */
  #fail(step: SimulatedStep, error: unknown): void {
    if (this.#stop.signal.aborted) return;
    const path = step.kind === "file" ? this.#resolve(step.path) : "";
    const text = `${path}: ${error instanceof Error ? error.message : error}\n`;
    this.#log.output(this.#world.clock.now(), "stderr", new TextEncoder().encode(text));
    this.#end({ cause: "exited", exitCode: 1 });
  }

  #resolve(path: string): string {
    const { env, platformEnv, workingDir } = this.#request;
    const known = { ...env, ...platformEnv };
    const absolute = path.replace(/^\$(\w+)/, (_, name: string) => known[name] ?? `$${name}`);
    return absolute.startsWith("/") ? absolute : `${workingDir}/${absolute}`;
  }

  #sigterm(): void {
    const reaction = this.#program.onSigterm ?? "dies";
    if (reaction === "ignores") return;
    if (reaction === "dies") {
      this.#end({ cause: "exited", signal: "SIGTERM" });
      return;
    }
    this.#world.clock.after(reaction.afterMs, () => {
      if (!this.over && !this.#stop.signal.aborted) this.#end({ cause: "exited", exitCode: reaction.exitCode });
    });
  }

  #sigkill(): void {
    if (!this.over && !this.#stop.signal.aborted) this.#end({ cause: "exited", signal: "SIGKILL" });
  }

  #end(how: Partial<ExecutionExit> & Pick<ExecutionExit, "cause">): void {
    const time = this.#world.clock.now();
    const exit: ExecutionExit = {
      outOfMemory: false,
      leftoverProcesses: 0,
      message: "",
      ...how,
      ...(how.cause === "exited" && this.#kill !== undefined ? { cause: this.#kill.cause } : {}),
    };
    this.#kill?.cancelTimer();
    this.#exit = { exit, time };
    this.#log.exited(time, exit);
    this.#stop.abort();
    this.#ended.resolve();
  }
}
