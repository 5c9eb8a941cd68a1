/** One execution from its start until nothing of it is left. */
import { sleep } from "#kube/ports.ts";
import { environmentOf, type Marks } from "#runtime/executor/environment.ts";
import { EventLog } from "#runtime/executor/event-log.ts";
import { argvOf, type StartFailure, startFailure } from "#runtime/executor/interpreter.ts";
import { anyLeft, type Grace, type KillTarget, type KillWorld, killAll } from "#runtime/executor/kill.ts";
import { looksOutOfMemory } from "#runtime/executor/oom.ts";
import type { PipeSource } from "#runtime/executor/pipes.ts";
import { type ProcessListener, type RunningProcess, startProcess } from "#runtime/executor/process.ts";
import type {
  ExecuteRequest,
  ExecutionExit,
  ExecutionId,
  ExecutionSummary,
  ExitCause,
  OutputStream,
} from "#runtime/executor-client.ts";

export interface ExecutionWorld extends KillWorld {
  readonly pipes: PipeSource;
  /** Marks the processes of this executor. */
  readonly executor: string;
  readonly containerEnv: Readonly<Record<string, string | undefined>>;
  /** Command prefix for scripts of requests that bring none. */
  readonly interpreter: readonly string[];
  readonly retainedBytes: number;
  readonly countOomKills: () => number | undefined;
}

/** How long processes that the first one left behind may take to end by themselves, then between SIGTERM and SIGKILL. */
const leftoverGraceMs = 1000;
const leftoverKillGraceMs = 2000;
/** How long output may take to reach its end once every process that we can find is gone. */
const residueMs = 200;
/** More than the kernel can hold in two pipes or sockets: what is left there when nobody writes any more is taken at once. */
const residueBytes = 1024 * 1024;
const groupPollMs = 25;
/** A script that is open for writing cannot be executed; two seconds are enough for any fork. */
const busyTries = 200;
const busyPollMs = 10;

type EndedBy = Extract<ExitCause, "cancelled" | "timed-out" | "executor-stopped">;

export class Execution implements ProcessListener {
  readonly id: ExecutionId;
  readonly log: EventLog;
  readonly #request: ExecuteRequest;
  readonly #world: ExecutionWorld;
  readonly #startTime: number;
  readonly #oomKillsBefore: number | undefined;
  readonly #closed = Promise.withResolvers<void>();
  readonly #ended = Promise.withResolvers<void>();
  readonly #leaderExited = new AbortController();
  #starting: Promise<void> | undefined;
  #process: RunningProcess | undefined;
  #paused = false;
  /** Bytes that may still be taken though the log is full; undefined while a writer may be alive. */
  #residueLeft: number | undefined;
  #allClosed = false;
  #killing: { readonly cause: EndedBy; readonly grace: Grace; done: Promise<number> } | undefined;
  #exit: { readonly exit: ExecutionExit; readonly time: number } | undefined;

  constructor(request: ExecuteRequest, world: ExecutionWorld) {
    this.id = { runUid: request.runUid, attempt: request.attempt };
    this.#request = request;
    this.#world = world;
    this.#startTime = world.clock.now();
    this.#oomKillsBefore = world.countOomKills();
    this.log = new EventLog(world.retainedBytes, () => this.#continue());
  }

  get over(): boolean {
    return this.#exit !== undefined;
  }

  /** Resolves when the end is recorded. */
  get ended(): Promise<void> {
    return this.#ended.promise;
  }

  /** Resolves when the process exists, or the failure to start it is recorded. */
  start(): Promise<void> {
    this.#starting ??= this.#start();
    return this.#starting;
  }

  summary(): ExecutionSummary {
    const known = { ...this.id, startTime: this.#startTime, lastSeq: this.log.lastSeq };
    return this.#exit === undefined ? known : { ...known, exit: this.#exit.exit, exitTime: this.#exit.time };
  }

  /** Kills all processes; resolves when they are gone and the end is recorded. Again with less grace: shortens the wait. */
  async kill(graceMs: number, cause: EndedBy): Promise<void> {
    await this.start();
    if (this.over) return;
    const due = this.#world.clock.monotonic() + graceMs;
    if (this.#killing === undefined) {
      const grace = { due };
      this.#killing = { cause, grace, done: killAll(this.#target(), grace, this.#world) };
    }
    this.#killing.grace.due = Math.min(this.#killing.grace.due, due);
    await this.#ended.promise;
  }

  output(stream: OutputStream, bytes: Uint8Array): void {
    this.log.output(this.#world.clock.now(), stream, bytes);
    if (this.#residueLeft !== undefined) this.#residueLeft -= bytes.byteLength;
    if (this.log.full && (this.#residueLeft ?? 0) <= 0) this.#pause();
  }

  closed(): void {
    this.#allClosed = true;
    this.#closed.resolve();
  }

  exited(code: number | null, signal: string | null): void {
    // Decided now: what is killed after the first process has ended by itself changes nothing about its result.
    const cause = this.#killing?.cause ?? "exited";
    this.#leaderExited.abort("exited"); // without a reason of ours it would build an exception each time
    void this.#settle(cause, signal === null ? { exitCode: code ?? 0 } : { signal });
  }

  async #start(): Promise<void> {
    const argv = argvOf(this.#request, this.#world.interpreter);
    if ("message" in argv) {
      this.#fail(argv);
      return;
    }
    const [file = "", ...args] = argv;
    const env = environmentOf(this.#request, this.#world.containerEnv, this.#world.executor);
    const command = { file, args, env, workingDir: this.#request.workingDir };
    for (let tries = 1; ; tries++) {
      try {
        this.#process = await startProcess(command, await this.#world.pipes.take(), this);
        this.log.started(this.#world.clock.now());
        return;
      } catch (error) {
        // Whoever wrote the script may have forked meanwhile, and that child has it open until it executes its program.
        const busy = (error as NodeJS.ErrnoException).code === "ETXTBSY" && tries < busyTries;
        if (!busy) {
          this.#fail(startFailure(error, argv));
          return;
        }
        await sleep(this.#world.clock, busyPollMs);
      }
    }
  }

  /** The first process has ended: see that the rest does too, take what is left of the output, record the end. */
  async #settle(cause: ExitCause, end: { exitCode: number } | { signal: string }): Promise<void> {
    const outOfMemory = cause === "exited" && this.#outOfMemory(end);
    await this.#windDown();
    let leftoverProcesses = 0;
    if (this.#killing !== undefined) {
      await this.#killing.done;
    } else if (!this.#quiet()) {
      const grace = { due: this.#world.clock.monotonic() + leftoverKillGraceMs };
      leftoverProcesses = await killAll(this.#target(), grace, this.#world);
    }
    this.#takeResidue();
    await this.#closedWithin(residueMs);
    this.#process?.abandonOutput();
    await this.#closed.promise;
    this.#end({ cause, ...end, outOfMemory, leftoverProcesses, message: leftoverMessage(leftoverProcesses) });
  }

  /**
   * Gives processes that outlive the first one (the `tee` of a redirection, for example) time to end by themselves. Time in
   * which nobody takes their output does not count.
   */
  async #windDown(): Promise<void> {
    const { clock } = this.#world;
    for (let left = leftoverGraceMs; left > 0 && this.#killing === undefined && !this.#quiet(); ) {
      const before = clock.monotonic();
      const blocked = this.#paused;
      // While output is open its end tells us; a group that has closed it can only be polled.
      if (this.#allClosed) await sleep(clock, groupPollMs);
      else await this.#closedWithin(groupPollMs);
      if (!blocked) left -= clock.monotonic() - before;
    }
  }

  /** Its output is closed and its group is gone. (What left the group without output is left to a later sweep.) */
  #quiet(): boolean {
    if (this.#process === undefined) return true;
    const { processes } = this.#world;
    const groupGone = !processes.groupExists(this.#process.pid);
    if (groupGone) this.#takeResidue();
    if (!this.#allClosed) return false;
    // A group of zombies, which PID 1 has yet to reap, exists but runs nothing; only a scan can tell, so it is the last resort.
    return groupGone || !anyLeft(this.#target(), processes);
  }

  async #closedWithin(ms: number): Promise<void> {
    if (this.#allClosed) return;
    const timeout = Promise.withResolvers<void>();
    const cancel = this.#world.clock.after(ms, timeout.resolve);
    await Promise.race([this.#closed.promise, timeout.promise]);
    cancel();
  }

  /** Nobody writes any more, so the rest is bounded, and must not wait for a reader: the end comes after it. */
  #takeResidue(): void {
    this.#residueLeft ??= residueBytes;
    this.#continue();
  }

  #pause(): void {
    this.#paused = true;
    this.#process?.pause();
  }

  #continue(): void {
    if (!this.#paused) return;
    this.#paused = false;
    this.#process?.resume();
  }

  #outOfMemory(end: { exitCode?: number; signal?: string }): boolean {
    return looksOutOfMemory(this.#oomKillsBefore, this.#world.countOomKills(), end);
  }

  #target(): KillTarget {
    const owns = (marks: Marks) =>
      marks.executor === this.#world.executor && marks.runUid === this.id.runUid && marks.attempt === this.id.attempt;
    if (this.#process === undefined) return { owns };
    return { owns, leader: { pid: this.#process.pid, exited: this.#leaderExited.signal } };
  }

  #fail(failure: StartFailure): void {
    this.#end({ cause: "start-failed", outOfMemory: false, leftoverProcesses: 0, ...failure });
  }

  #end(exit: ExecutionExit): void {
    const time = this.#world.clock.now();
    this.#exit = { exit, time };
    this.log.exited(time, exit);
    this.#ended.resolve();
  }
}

function leftoverMessage(count: number): string {
  if (count === 0) return "";
  return `${count} process${count === 1 ? "" : "es"} that the program left behind ${count === 1 ? "was" : "were"} killed`;
}
