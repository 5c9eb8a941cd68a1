/** All executions of one executor, and the rules of starting, cancelling and forgetting them. */
import { checkRequest } from "#runtime/executor/check-request.ts";
import type { Marks } from "#runtime/executor/environment.ts";
import type { EventLog } from "#runtime/executor/event-log.ts";
import { Execution, type ExecutionWorld } from "#runtime/executor/execution.ts";
import { killAll } from "#runtime/executor/kill.ts";
import { OverAttempts } from "#runtime/executor/over-attempts.ts";
import {
  AttemptOverError,
  BootIdChangedError,
  type ExecuteRequest,
  type ExecutionId,
  ExecutionNotFoundError,
  type ExecutionSummary,
  ExecutorUnavailableError,
  executionKey,
  type KillCause,
  StillRunningError,
} from "#runtime/executor-client.ts";

/** Ends are gathered for this long before one scan looks for what they left behind. */
const sweepDelayMs = 1000;
const sweepGraceMs = 2000;

export class Executions {
  readonly #bootId: string;
  readonly #world: ExecutionWorld;
  readonly #table = new Map<string, Execution>();
  readonly #over = new OverAttempts();
  #stopping = false;
  #cancelSweep: (() => void) | undefined;
  #sweeping: Promise<unknown> = Promise.resolve();

  constructor(bootId: string, world: ExecutionWorld) {
    this.#bootId = bootId;
    this.#world = world;
  }

  /** Kills what an earlier executor on the same socket left behind: its executions are lost, and lost ones must not run. */
  async clearPredecessors(): Promise<number> {
    return await killAll({ owns: (marks) => marks.executor === this.#world.executor }, { due: 0 }, this.#world);
  }

  /** See `execute` of the port {@link ExecutorClient}; the errors are the same. */
  async execute(request: ExecuteRequest): Promise<{ readonly alreadyRunning: boolean }> {
    if (request.bootId !== this.#bootId) throw new BootIdChangedError(request.bootId);
    if (this.#stopping) throw new ExecutorUnavailableError("the executor is stopping");
    checkRequest(request);
    const key = executionKey(request);
    const known = this.#table.get(key);
    if (known !== undefined) {
      await known.start();
      return { alreadyRunning: true };
    }
    if (this.#over.has(request)) throw new AttemptOverError(request);
    this.#over.add({ runUid: request.runUid, attempt: request.attempt - 1 });
    const execution = new Execution(request, this.#world);
    this.#table.set(key, execution);
    void execution.ended.then(() => this.#planSweep());
    await execution.start();
    return { alreadyRunning: false };
  }

  /** @throws {ExecutionNotFoundError} */
  log(id: ExecutionId): EventLog {
    const execution = this.#table.get(executionKey(id));
    if (execution === undefined) throw new ExecutionNotFoundError(id);
    return execution.log;
  }

  knows(id: ExecutionId): boolean {
    return this.#table.has(executionKey(id));
  }

  acknowledge(id: ExecutionId, seq: number): void {
    this.#table.get(executionKey(id))?.log.acknowledge(seq);
  }

  list(): readonly ExecutionSummary[] {
    return [...this.#table.values()].map((execution) => execution.summary());
  }

  async cancel(id: ExecutionId, graceMs: number, cause: KillCause): Promise<void> {
    this.#over.add(id);
    const execution = this.#table.get(executionKey(id));
    if (execution !== undefined && !execution.over) {
      await execution.kill(graceMs, cause);
      return;
    }
    const grace = { due: this.#world.clock.monotonic() + graceMs };
    await killAll({ owns: (marks) => this.#isOurs(marks) && isOf(id, marks) }, grace, this.#world);
  }

  /** @throws {StillRunningError} */
  forget(id: ExecutionId): void {
    const key = executionKey(id);
    const execution = this.#table.get(key);
    if (execution === undefined) return;
    if (!execution.over) throw new StillRunningError(id);
    this.#over.add(id);
    this.#table.delete(key);
    execution.log.wake();
  }

  /** Kills everything and takes no more; resolves when no process is left. */
  async stop(graceMs: number): Promise<void> {
    this.#stopping = true;
    this.#cancelSweep?.();
    await Promise.all([...this.#table.values()].map((execution) => execution.kill(graceMs, "executor-stopped")));
    await this.#sweeping;
    const due = this.#world.clock.monotonic() + graceMs;
    await killAll({ owns: (marks) => this.#isOurs(marks) }, { due }, this.#world);
  }

  /**
   * An execution that ends by itself is over when its process group is; what left the group unseen is found by a scan. One
   * scan for all that ended within a while, as it reads every process of the container.
   */
  #planSweep(): void {
    if (this.#stopping) return;
    this.#cancelSweep ??= this.#world.clock.after(sweepDelayMs, () => {
      this.#cancelSweep = undefined;
      this.#sweeping = this.#sweeping.then(() => this.#sweep());
    });
  }

  async #sweep(): Promise<void> {
    const due = this.#world.clock.monotonic() + sweepGraceMs;
    await killAll({ owns: (marks) => this.#isOurs(marks) && !this.#isLive(marks) }, { due }, this.#world);
  }

  #isOurs(marks: Marks): boolean {
    return marks.executor === this.#world.executor;
  }

  #isLive(marks: Marks): boolean {
    return this.#table.get(executionKey(marks))?.over === false;
  }
}

function isOf(id: ExecutionId, marks: Marks): boolean {
  return marks.runUid === id.runUid && marks.attempt === id.attempt;
}
