/** An executor without processes: programs are data and run under a Clock. For the simulation and for tests of the agent. */
import type { Clock, Random } from "#kube/ports.ts";
import { checkRequest } from "#runtime/executor/check-request.ts";
import { OverAttempts } from "#runtime/executor/over-attempts.ts";
import {
  AttemptOverError,
  BootIdChangedError,
  type ExecuteRequest,
  type ExecutionEvent,
  type ExecutionId,
  ExecutionNotFoundError,
  type ExecutionSummary,
  type ExecutorClient,
  type ExecutorHealth,
  ExecutorUnavailableError,
  executionKey,
  type KillCause,
  StillRunningError,
} from "#runtime/executor-client.ts";
import { retainedBytes } from "#runtime/proto/limits.ts";
import { SimulatedExecution } from "#runtime/simulated-execution.ts";
import type { SimulatedProgram } from "#runtime/simulated-program.ts";

export type ExecutorMethod = "health" | "execute" | "watch" | "list" | "cancel" | "forget";

export interface SimulatedExecutorOptions {
  readonly clock: Clock;
  readonly random: Random;
  /** What a request would run. Called once for each start. */
  readonly program: (request: ExecuteRequest) => SimulatedProgram;
  /** Where the files that programs write go. Default: nowhere, and a program that writes fails. */
  readonly writeFile?: (path: string, content: Uint8Array) => Promise<void>;
  /** Default: what the contract demands of a server. */
  readonly retainedBytes?: number;
  /** Called before a method takes effect; an error thrown here is the call's, and nothing has happened. */
  readonly before?: (method: ExecutorMethod, id?: ExecutionId) => void | Promise<void>;
  /** Called after a method took effect; an error thrown here is a lost answer. Not called for `watch`. */
  readonly after?: (method: ExecutorMethod, id?: ExecutionId) => void | Promise<void>;
}

/**
 * Keeps the contract of {@link ExecutorClient} and passes the same tests as the real executor. Beyond it: {@link crash} and
 * {@link boot}, health by decree, and a count of starts that no crash erases.
 */
export class SimulatedExecutor implements ExecutorClient {
  readonly #options: SimulatedExecutorOptions;
  readonly #starts = new Map<string, number>();
  #executions = new Map<string, SimulatedExecution>();
  #over = new OverAttempts();
  #up = true;
  #bootId: string;
  #bootTime: number;
  #health = { healthy: true, message: "" };

  constructor(options: SimulatedExecutorOptions) {
    this.#options = options;
    this.#bootId = options.random.uuid();
    this.#bootTime = options.clock.now();
  }

  /** How often each attempt was started over all boots, by {@link executionKey}. A number above 1 is a broken guarantee. */
  get starts(): ReadonlyMap<string, number> {
    return this.#starts;
  }

  /** Attempts whose processes would exist now. */
  get running(): readonly ExecutionId[] {
    return [...this.#executions.values()].filter((execution) => !execution.over).map((execution) => execution.id);
  }

  get bootId(): string {
    return this.#bootId;
  }

  setHealth(health: { healthy: boolean; message: string }): void {
    this.#health = health;
  }

  /** The executor and all its processes are gone; every call and open watch fails until {@link boot}. */
  crash(): void {
    this.#up = false;
    for (const execution of this.#executions.values()) execution.vanish();
    this.#executions = new Map();
    this.#over = new OverAttempts();
  }

  /** Starts it again under a new boot id, knowing nothing. */
  boot(): void {
    if (this.#up) this.crash();
    this.#up = true;
    this.#bootId = this.#options.random.uuid();
    this.#bootTime = this.#options.clock.now();
  }

  health(_signal?: AbortSignal): Promise<ExecutorHealth> {
    return this.#call("health", undefined, () => ({
      ...this.#health,
      bootId: this.#bootId,
      bootTime: this.#bootTime,
    }));
  }

  execute(request: ExecuteRequest): Promise<{ readonly alreadyRunning: boolean }> {
    return this.#call("execute", request, () => {
      if (request.bootId !== this.#bootId) throw new BootIdChangedError(request.bootId);
      checkRequest(request);
      const key = executionKey(request);
      if (this.#executions.has(key)) return { alreadyRunning: true };
      if (this.#over.has(request)) throw new AttemptOverError(request);
      this.#over.add({ runUid: request.runUid, attempt: request.attempt - 1 });
      this.#starts.set(key, (this.#starts.get(key) ?? 0) + 1);
      const execution = new SimulatedExecution(request, this.#options.program(request), {
        clock: this.#options.clock,
        retainedBytes: this.#options.retainedBytes ?? retainedBytes,
        writeFile: this.#options.writeFile ?? refuseFiles,
      });
      this.#executions.set(key, execution);
      execution.start();
      return { alreadyRunning: false };
    });
  }

  async watch(
    id: ExecutionId,
    fromSeq: number,
    onEvent: (event: ExecutionEvent) => void | Promise<void>,
    signal?: AbortSignal,
    taken?: () => number,
  ): Promise<void> {
    await this.#options.before?.("watch", id);
    this.#assertUp();
    const execution = this.#executions.get(executionKey(id));
    if (execution === undefined) throw new ExecutionNotFoundError(id);
    await execution.deliver(fromSeq, onEvent, signal, taken);
  }

  list(): Promise<readonly ExecutionSummary[]> {
    return this.#call("list", undefined, () => [...this.#executions.values()].map((execution) => execution.summary()));
  }

  cancel(id: ExecutionId, graceMs: number, cause: KillCause = "cancelled"): Promise<void> {
    return this.#call("cancel", id, () => {
      this.#over.add(id);
      return this.#executions.get(executionKey(id))?.kill(graceMs, cause);
    });
  }

  forget(id: ExecutionId): Promise<void> {
    return this.#call("forget", id, () => {
      const execution = this.#executions.get(executionKey(id));
      if (execution === undefined) return;
      if (!execution.over) throw new StillRunningError(id);
      this.#over.add(id);
      this.#executions.delete(executionKey(id));
      execution.forget();
    });
  }

  async #call<T>(method: ExecutorMethod, id: ExecutionId | undefined, effect: () => T | Promise<T>): Promise<T> {
    await this.#options.before?.(method, id);
    this.#assertUp();
    const boot = this.#bootId;
    const answer = await effect();
    await this.#options.after?.(method, id);
    this.#assertUp(boot);
    return answer;
  }

  /** A call that a crash overtook gets no answer, even when the executor is up again. */
  #assertUp(boot = this.#bootId): void {
    if (!this.#up) throw new ExecutorUnavailableError("the simulated executor is down");
    if (boot !== this.#bootId) throw new ExecutorUnavailableError("the simulated executor restarted during the call");
  }
}

async function refuseFiles(): Promise<void> {
  throw new Error("this simulation has no files: pass writeFile to the executor");
}
