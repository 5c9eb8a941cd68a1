import type { Run } from "#api/kinds/run.ts";
import type { Amounts } from "#api/quantity.ts";
import { isTerminal, requestsOf, retryOf, timeoutOf } from "#api/runs.ts";
import { parseTime } from "#api/time.ts";
import { asError } from "#kube/outcome.ts";
import type { Cancel } from "#kube/ports.ts";
import {
  type AttemptEffect,
  type AttemptEvent,
  type AttemptSnapshot,
  attemptMachine,
  newAttempt,
} from "#machines/attempt.ts";
import { type AttemptOutcome, failure, outcomeEvent, withoutOutputs } from "#machines/attempt-outcome.ts";
import { step } from "#machines/lib/settle.ts";
import type { ExecutionId } from "#runtime/executor-client.ts";
import type { RunLayout } from "#runtime/files/layout.ts";
import { removeRun } from "#runtime/files/runs.ts";
import { secretPatterns } from "#runtime/logs/masker.ts";
import { RunLog } from "#runtime/logs/run-log.ts";
import { secretsNow } from "#runtime/references/environment.ts";
import { Lookup } from "#runtime/references/lookup.ts";
import type { AgentDeps, Pools } from "./deps.ts";
import { executeRequest, exitEvent, follow, forgetAttempt, killAttempt, nextExecutor, start } from "./execute.ts";
import { patiently } from "./patience.ts";
import { layoutOf, type Prepared, prepare } from "./prepare.ts";
import { isOurs, type Written, writeMove } from "./run-status-writer.ts";
import { collect, stage, upload } from "./transfer.ts";
import type { Workspaces } from "./workspaces.ts";

export interface RunnerContext {
  readonly deps: AgentDeps;
  readonly pools: Pools;
  readonly workspaces: Workspaces;
  /** Ends with the agent process: nothing may happen after it. */
  readonly life: AbortSignal;
  /** A write of ours was stored. */
  readonly onWritten: (run: Run, basis: string | undefined) => void;
  /** The Pod is ending, and cannot be kept. */
  readonly isLeaving: () => boolean;
  /** Nothing is left to do for this Run under this assignment. */
  readonly onDone: (runner: AttemptRunner) => void;
}

/** What a Run is told when the API server will not have the result of its program. */
function refused(outcome: AttemptOutcome, { message }: Error): AttemptOutcome {
  const why = `the API server refuses the result of the program: ${message}`;
  const isBad = outcome.kind !== "Succeeded" && "outputs" in outcome;
  return (isBad ? withoutOutputs(outcome, why) : undefined) ?? failure({ reason: "OutputsInvalid", message: why });
}

/**
 * One Run under one assignment to this Pod: executes the effects of the attempt chart and feeds their answers back. It
 * decides nothing by itself. An answer that comes too late finds a state without a transition for it.
 */
export class AttemptRunner {
  readonly runUid: string;
  readonly epoch: number;
  readonly requests: Amounts;
  readonly #context: RunnerContext;
  #run: Run;
  #snapshot: AttemptSnapshot = newAttempt();
  #attempt: number;
  #bootId = "";
  #layout: RunLayout;
  /** Set by the preparation, which always comes before the start in this process. */
  #prepared: Prepared | undefined;
  /** Values of Secrets that the program has. */
  #secrets: readonly string[] = [];
  #log: RunLog | undefined;
  /** Aborts the effect under way. */
  #work = new AbortController();
  /** Settles when the effect under way, and the following of the program, have ended. */
  readonly #underWay = new Set<Promise<void>>();
  /** Settles when the files of the Run are removed, or cannot be. */
  #removed: Promise<void> = Promise.resolve();
  #cancelTimeout: Cancel | undefined;
  #killCause: "cancelled" | "timed-out" = "cancelled";
  /** How the program ended when it was killed, for people. */
  #howKilled: string | undefined;
  /** Termination was asked for; kept, because the claim does not listen while it is on its way. */
  #termination: string | undefined;

  constructor(run: Run, context: RunnerContext) {
    this.runUid = run.metadata.uid ?? "";
    this.epoch = run.status?.assignmentEpoch ?? 0;
    this.requests = requestsOf(run.spec) ?? {};
    this.#context = context;
    this.#run = run;
    // A Run that is Scheduled gets the next number by its claim.
    this.#attempt = (run.status?.attempt ?? 0) + (run.status?.phase === "Scheduled" ? 1 : 0);
    this.#layout = layoutOf(context.deps, run, Math.max(1, this.#attempt));
  }

  get done(): boolean {
    return this.#snapshot.value === "Done";
  }

  /** Not claimed yet, and no claim is under way. */
  get waiting(): boolean {
    return this.#snapshot.value === "Assigned";
  }

  get run(): Run {
    return this.#run;
  }

  get workspace(): string | undefined {
    return this.#run.spec.workspace?.name;
  }

  /** The Pod takes the Run. `bootId` is the executor's before the claim. */
  admit(bootId: string): void {
    this.#bootId = bootId;
    this.#send({ type: "ADMIT" });
  }

  refuse(message: string): void {
    this.#send({ type: "REFUSE", message });
  }

  /**
   * After a restart of the agent: goes on where the Run stands.
   * @param exitTime when the program ended, milliseconds since the epoch, if it has
   */
  resume(event: AttemptEvent, bootId: string, exitTime: number | undefined): void {
    this.#bootId = bootId;
    this.#send(event);
    if (this.#snapshot.value === "Executing")
      this.#followProgram("the agent restarted; earlier records are in the log before");
    // What counts is when the program ended, however long nobody was there to see it.
    const deadline = this.#deadline() ?? Number.POSITIVE_INFINITY;
    if ((exitTime ?? this.#context.deps.clock.now()) > deadline) this.#timeOut();
    else if (exitTime === undefined) this.#armTimeout();
    this.observe(this.#run);
  }

  /** The Run as it is now; undefined when it is gone, or is assigned elsewhere. */
  observe(run: Run | undefined): void {
    if (this.done) return;
    if (run === undefined || run.metadata.uid !== this.runUid || !this.#isStillOurs(run)) {
      this.#send({ type: "FENCED" });
      return;
    }
    this.#run = run;
    const { termination } = run.spec;
    if (termination === undefined) return;
    this.#termination = termination.message ?? "cancelled by user";
    this.#cancel();
  }

  #cancel(): void {
    if (this.#termination === undefined) return;
    if (this.#snapshot.value !== "Killing") this.#killCause = "cancelled";
    this.#send({ type: "CANCEL", message: this.#termination });
  }

  #isStillOurs(run: Run): boolean {
    return isOurs(run, this.#context.deps, this.epoch) && !isTerminal(run.status?.phase);
  }

  #send(event: AttemptEvent): void {
    const { life, onDone } = this.#context;
    if (life.aborted) return;
    const next = step(attemptMachine, this.#snapshot, event);
    this.#snapshot = next.snapshot;
    for (const effect of next.effects) this.#perform(effect);
    if (event.type === "CLAIMED") this.#cancel();
    // Only then: the chart must know that it runs before it can learn how it ended.
    if (event.type === "STARTED") this.#followProgram();
    if (next.changed && this.done) {
      this.#cancelTimeout?.();
      // The next attempt of the Run uses the same directories.
      void this.#removed.then(() => life.aborted || onDone(this));
    }
  }

  #perform(effect: AttemptEffect): void {
    const { deps, pools, workspaces, life } = this.#context;
    switch (effect.type) {
      case "claim":
        this.#answer(() => this.#claim());
        return;
      case "prepare":
        this.#answer(async (signal) => {
          this.#prepared = await prepare(deps, pools, workspaces, this.#run, this.#layout, signal);
          this.#secrets = this.#prepared.variables?.secrets ?? [];
          return this.#prepared.event;
        });
        return;
      case "stage":
        this.#answer((signal) => stage(deps, pools, this.#run, this.#layout, signal));
        return;
      case "start":
        this.#answer((signal) => {
          const prepared = this.#prepared ?? {};
          const request = executeRequest(deps, this.#run, this.#attempt, this.#bootId, this.#layout, prepared);
          return start(deps, request, signal);
        });
        return;
      case "collect":
        this.#answer(() => collect(deps, this.#layout, this.#secrets));
        return;
      case "upload":
        this.#answer((signal) => upload(deps, pools, this.#run, this.#layout, signal));
        return;
      case "kill":
        this.#kill();
        return;
      case "report":
        this.#answer(() => this.#report(effect.outcome));
        return;
      case "cleanup":
        this.#removed = this.#background("files of the Run cannot be removed", () =>
          removeRun(deps.files, this.#layout),
        );
        return;
      case "forget":
        void this.#background("the executor does not forget the attempt", () => forgetAttempt(deps, this.#id, life));
        return;
      default:
        effect satisfies never;
    }
  }

  /** Runs an effect and sends its answer; an error that nobody foresaw fails the attempt instead of hanging it. */
  #answer(effect: (signal: AbortSignal) => Promise<AttemptEvent>): void {
    const { signal } = this.#work;
    this.#track(async () => {
      try {
        this.#send(await effect(signal));
      } catch (thrown) {
        if (signal.aborted || this.#context.life.aborted) return;
        const error = asError(thrown);
        this.#context.deps.logger.error("attempt: effect failed", { run: this.#name, error });
        this.#send({ type: "FAILED", reason: "StartFailed", message: error.message });
      }
    });
  }

  #track(work: () => Promise<void>): void {
    const promise = work().finally(() => this.#underWay.delete(promise));
    this.#underWay.add(promise);
  }

  #background(problem: string, work: () => Promise<void>): Promise<void> {
    return work().catch((error: unknown) => {
      if (!this.#context.life.aborted) this.#context.deps.logger.warn(problem, { run: this.#name, error });
    });
  }

  async #claim(): Promise<AttemptEvent> {
    const written = await this.#write(
      (now) => ({ type: "CLAIM", now }),
      // Only the agent of the assigned Pod claims, so a Running Run of this epoch was claimed by us.
      (live) => live.status?.phase === "Running" && live.status.assignmentEpoch === this.epoch,
    );
    if (written.kind === "fenced") return { type: "FENCED" };
    this.#run = written.run;
    this.#attempt = written.run.status?.attempt ?? this.#attempt;
    this.#layout = layoutOf(this.#context.deps, written.run, this.#attempt);
    this.#armTimeout();
    return { type: "CLAIMED" };
  }

  async #report(outcome: AttemptOutcome): Promise<AttemptEvent> {
    const { clock, random, logger } = this.#context.deps;
    const signal = this.#context.life;
    try {
      return await this.#tell(
        outcome.kind === "Cancelled" ? { ...outcome, message: this.#howEnded(outcome) } : outcome,
      );
    } catch (thrown) {
      signal.throwIfAborted();
      // Without an end the Run would hold its place for ever: it is told instead why it has no result.
      const error = asError(thrown);
      logger.error("attempt: the API server refuses the result", { run: this.#name, error });
      const told = () => this.#tell(refused(outcome, error));
      return await patiently(told, { clock, random, signal, isTransient: () => true, maxMs: 30_000 });
    }
  }

  /** Why the Run was cancelled, and what that took. */
  #howEnded({ message }: { readonly message: string }): string {
    return this.#howKilled === undefined ? message : `${message}; ${this.#howKilled}`;
  }

  async #tell(outcome: AttemptOutcome): Promise<AttemptEvent> {
    const written = await this.#write(
      (now) => outcomeEvent(outcome, retryOf(this.#run.spec), now),
      // What follows a claim of this epoch is written by us, or by the controller that took the Run away.
      () => false,
    );
    return written.kind === "fenced" ? { type: "FENCED" } : { type: "REPORTED" };
  }

  async #write(eventAt: Parameters<typeof writeMove>[2], isDone: (live: Run) => boolean): Promise<Written> {
    const { deps, life, onWritten } = this.#context;
    const written = await writeMove(deps, this.#run, eventAt, isDone, life);
    if (written.kind === "written" && !life.aborted) onWritten(written.run, written.basis);
    return written;
  }

  /** When the attempt is out of time, milliseconds since the epoch; undefined without a limit. */
  #deadline(): number | undefined {
    const timeout = timeoutOf(this.#run.spec);
    const started = parseTime(this.#run.status?.startTime);
    return timeout === undefined || started === undefined ? undefined : started + timeout;
  }

  #armTimeout(): void {
    const { clock } = this.#context.deps;
    const deadline = this.#deadline();
    if (deadline === undefined) return;
    this.#cancelTimeout?.();
    this.#cancelTimeout = clock.after(Math.max(0, deadline - clock.now()), () => this.#timeOut());
  }

  #timeOut(): void {
    if (this.#snapshot.value !== "Killing") this.#killCause = "timed-out";
    this.#send({ type: "TIMEOUT", message: `the attempt ran longer than ${this.#run.spec.timeout}` });
  }

  #openLog(): RunLog {
    const { deps } = this.#context;
    this.#log ??= new RunLog({
      runUid: this.runUid,
      attempt: this.#attempt,
      sink: deps.sink,
      clock: deps.clock,
      limits: deps.logLimits,
      secrets: secretPatterns(this.#secrets),
    });
    return this.#log;
  }

  /** After a restart: the values that are to be masked, as they are now. False when one is not there any more. */
  async #recallSecrets(): Promise<boolean> {
    const { references, self } = this.#context.deps;
    const { secrets, isComplete } = await secretsNow(this.#run.spec, new Lookup(references, self.runtime));
    this.#secrets = secrets;
    return isComplete;
  }

  /** The program's output and end; goes on while it is being killed, so that its last words are logged. */
  #followProgram(notice?: string): void {
    const { deps, life } = this.#context;
    this.#track(async () => {
      try {
        const lost = this.#prepared === undefined && !(await this.#recallSecrets());
        const log = this.#openLog();
        if (notice !== undefined) await log.system(notice);
        if (lost) await log.system("a Secret of this Run is gone: if the program prints its value, it is not masked");
        const end = await follow(deps, this.#id, log, life);
        await log.end();
        if ("exit" in end && end.exit.cause === "executor-stopped" && !this.#context.isLeaving()) {
          // The kubelet ends this container also when it evicts the Pod, and tells the agent last.
          await nextExecutor(deps, this.#bootId, life);
          life.throwIfAborted();
        }
        // It ended with its Pod, and why that ended is not known here: eviction, deletion, loss. As after a crash of the
        // agent the attempt stays as it is, until the controller has seen what became of the Pod.
        if (this.#context.isLeaving() && ("lost" in end || end.exit.cause === "executor-stopped")) {
          this.#context.onDone(this);
          return;
        }
        if ("lost" in end) {
          this.#send({ type: "FAILED", reason: "AttemptLost", message: end.lost });
          return;
        }
        // After a restart of the agent the executor's record is all that says why the program was killed.
        if (end.exit.cause === "cancelled") this.#cancel();
        if (end.exit.cause === "timed-out") this.#timeOut();
        this.#send(exitEvent(end.exit, log));
      } catch (thrown) {
        if (life.aborted) return;
        const error = asError(thrown);
        deps.logger.error("attempt: the program cannot be followed", { run: this.#name, error });
        this.#send({ type: "FAILED", reason: "AttemptLost", message: error.message });
      }
    });
  }

  /** Aborts what is under way, kills the program, and answers when both are over. */
  #kill(): void {
    const { deps, life } = this.#context;
    this.#work.abort(new Error("the attempt is ended"));
    this.#work = new AbortController();
    const underWay = [...this.#underWay];
    void (async () => {
      try {
        this.#howKilled = await killAttempt(deps, this.#id, this.#killCause, life);
        await Promise.all(underWay);
        this.#send({ type: "GONE" });
      } catch (error) {
        if (!life.aborted) deps.logger.error("attempt: it cannot be ended", { run: this.#name, error });
      }
    })();
  }

  get #id(): ExecutionId {
    return { runUid: this.runUid, attempt: Math.max(1, this.#attempt) };
  }

  get #name(): string {
    return `${this.#run.metadata.namespace}/${this.#run.metadata.name}`;
  }
}
