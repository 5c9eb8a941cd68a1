import type { Run } from "#api/kinds/run.ts";
import { keyOf } from "#api/meta.ts";
import { referencesOf } from "#api/references.ts";
import { persistentWorkspaces, runs } from "#api/resources.ts";
import { isTerminal, unfinishedRuns } from "#api/runs.ts";
import { createController } from "#kube/controller.ts";
import { createInformer } from "#kube/informer.ts";
import { done } from "#kube/outcome.ts";
import { sleep } from "#kube/ports.ts";
import { resumption } from "#machines/attempt.ts";
import type { ArtifactStore } from "#runtime/artifacts/store.ts";
import { type ExecutionSummary, executionKey } from "#runtime/executor-client.ts";
import { AttemptRunner, type RunnerContext } from "./attempt-runner.ts";
import { fits } from "./capacity.ts";
import type { AgentDeps } from "./deps.ts";
import { forgetAttempt, killAttempt } from "./execute.ts";
import { Semaphore } from "./semaphore.ts";
import { removeStrayFiles } from "./stray-files.ts";
import { runSweeper } from "./sweeper.ts";
import { Workspaces } from "./workspaces.ts";

/** Clones and transfers at a time in one Pod: enough to fill a network, few enough to leave room for the programs. */
const clones = 4;
const transfers = 4;

/** The scheduler places a Run that was handed back so often without delay at first, then after 250 ms, 500 ms: in all a second. */
const earlyAssignments = 4;

/** How often an executor that is not healthy, or may have become so, is asked. */
const healthIntervalMs = 1000;
const firstHealthIntervalMs = 20;

/** Directories of workspaces that are removed at a time: a large one does not hold up the others. */
const removals = 4;

export interface Agent {
  /** Resolves when the agent has caught up with what it left before a restart, and takes work. */
  start(): Promise<void>;
  /** Takes no new work; resolves when nothing is at work any more, or after `timeoutMs`. */
  drain(timeoutMs: number): Promise<void>;
  /** Ends at once, in the middle of whatever it does, as a crash would. Programs run on. */
  stop(): void;
  readonly ready: boolean;
  /** Runs at work here. */
  readonly activeRuns: number;
}

/**
 * The agent of a Runtime Pod: watches the Runs that are assigned to it and the workspaces that are bound to it, and
 * nothing else.
 *
 * @param onReady called when readiness changes
 */
export function createAgent(deps: AgentDeps, onReady: (ready: boolean) => void = () => {}): Agent {
  const { client, clock, random, logger, self, executor, store } = deps;
  const life = new AbortController();
  const runners = new Map<string, AttemptRunner>();
  /** Assignments that are over, by Run UID, until the watch has caught up with our own report. */
  const over = new Map<string, number>();
  const shared = { clock, random, logger, namespace: self.namespace };
  const runInformer = createInformer(client, runs, {
    ...shared,
    fieldSelector: `status.assignedPod=${self.pod},${unfinishedRuns}`,
    indexes: { workspace: ({ spec }) => (spec.workspace === undefined ? [] : [spec.workspace.name]) },
  });
  const workspaceInformer = createInformer(client, persistentWorkspaces, {
    ...shared,
    fieldSelector: `status.boundPod=${self.pod}`,
  });
  const workspaces = new Workspaces(deps, {
    get: (name) => workspaceInformer.get(`${self.namespace}/${name}`),
    isReferenced,
  });
  const context: RunnerContext = {
    deps,
    pools: { clone: new Semaphore(clones), transfer: new Semaphore(transfers) },
    workspaces,
    life: life.signal,
    isLeaving: () => draining,
    onWritten: (run, basis) => {
      // A Run that leaves the selection goes by its watch event; noting it here would keep it in the cache.
      if (run.status?.assignedPod === self.pod && !isTerminal(run.status.phase)) runInformer.noteWrite(run, basis);
    },
    onDone: (runner) => {
      runners.delete(runner.runUid);
      const run = runInformer.get(keyOf(runner.run));
      if (run?.metadata.uid === runner.runUid) {
        over.set(runner.runUid, runner.epoch);
        // The same Run may be here again: retried, or handed back and assigned anew.
        consider(run);
      }
      cleanUp(runner.workspace);
      drained?.();
    },
  };
  const cleaner = createController({
    name: "workspace-cleanup",
    workers: removals,
    ...shared,
    async reconcile(key) {
      const workspace = workspaceInformer.get(key);
      if (workspace !== undefined) await workspaces.cleanUp(workspace);
      return done;
    },
  });
  let caughtUp = false;
  let draining = false;
  let ready = false;
  let drained: (() => void) | undefined;

  runInformer.onChange((_, run) => {
    if (run !== undefined) consider(run);
  });
  runInformer.onChange((old, run) => {
    if (old === undefined || run !== undefined) return;
    over.delete(old.metadata.uid ?? "");
    runners.get(old.metadata.uid ?? "")?.observe(undefined);
    cleanUp(old.spec.workspace?.name);
  });
  workspaceInformer.onChange((_, workspace) => {
    if (workspace !== undefined) cleanUp(workspace.metadata.name);
  });

  function isReferenced(name: string): boolean {
    for (const runner of runners.values()) if (runner.workspace === name && !runner.done) return true;
    return runInformer.byIndex("workspace", name).length > 0;
  }

  /** Has the directory of the workspace removed if it is being deleted; what is not done now comes again by an event. */
  function cleanUp(name: string | undefined): void {
    const workspace = workspaceInformer.get(`${self.namespace}/${name}`);
    if (workspace?.metadata.deletionTimestamp !== undefined) cleaner.enqueue(keyOf(workspace));
  }

  /** A Run as the watch shows it: one that is new here begins, one at work learns what changed. */
  function consider(run: Run): void {
    if (!caughtUp || life.signal.aborted) return;
    const uid = run.metadata.uid ?? "";
    const runner = runners.get(uid);
    if (runner !== undefined) {
      runner.observe(run);
      return;
    }
    if (!isNew(run)) return;
    if (run.status?.phase === "Scheduled") begin(run);
    // A claim that an earlier process of ours sent before it died, and that was stored after this one had started.
    else if (run.status?.phase === "Running") void resumeLate(run);
  }

  /** Assigned to this Pod, and not an assignment that is over: then the watch is behind our own report. */
  function isNew({ metadata, status }: Run): boolean {
    const isHere = status?.assignedPodUID === self.podUid;
    return isHere && (status.assignmentEpoch ?? 0) > (over.get(metadata.uid ?? "") ?? -1);
  }

  function begin(run: Run): void {
    const runner = new AttemptRunner(run, context);
    runners.set(runner.runUid, runner);
    if (run.spec.termination !== undefined) {
      runner.observe(run);
      return;
    }
    const refusal = refusalOf(runner);
    if (refusal !== undefined) runner.refuse(refusal);
    else void admit(runner);
  }

  /** Why the Pod cannot take the Run; undefined when it can. */
  function refusalOf(runner: AttemptRunner): string | undefined {
    if (draining) return `Pod ${self.pod} is draining`;
    const others = [...runners.values()].filter((other) => other !== runner && !other.done);
    const lacking = fits(
      self.capacity,
      others.map(({ requests }) => requests),
      runner.requests,
    );
    if (lacking !== undefined) return `Pod ${self.pod} has no room: ${lacking}`;
    return runner.workspace === undefined ? undefined : workspaces.refusal(runner.workspace);
  }

  /** The boot id is read before the claim: if the executor restarts in between, the attempt is not started there. */
  async function admit(runner: AttemptRunner): Promise<void> {
    try {
      const { healthy, message, bootId } = await executor.health(life.signal);
      if (healthy) {
        const early = await earlyReference(runner.run);
        if (early === undefined) runner.admit(bootId);
        else runner.refuse(`Pod ${self.pod} has no ${early}, which the Runtime may have listed a moment ago`);
      } else runner.refuse(`the executor of Pod ${self.pod} is not healthy: ${message}`);
    } catch (error) {
      if (life.signal.aborted) return;
      const message = error instanceof Error ? error.message : String(error);
      runner.refuse(`the executor of Pod ${self.pod} does not answer: ${message}`);
    }
  }

  /**
   * What the Run refers to and this Pod has not, if that may be because the Run came together with a change of its Runtime, of
   * which the scheduler had not heard. After a few assignments it has, and the Run is taken to be told what is wrong.
   */
  async function earlyReference(run: Run): Promise<string | undefined> {
    const { assignmentEpoch = 0, attempt = 0 } = run.status ?? {};
    if (assignmentEpoch - attempt > earlyAssignments) return undefined;
    for (const { kind, name } of referencesOf(run)) {
      const isThere = (await deps.references.read(kind, name).catch(() => new Map())) !== undefined;
      if (!isThere) return `${kind} ${name}`;
    }
    return undefined;
  }

  /** Joins the Runs that are ours with what the executor knows. Nothing is read from disk: there is no journal. */
  async function catchUp(): Promise<void> {
    const { listed, bootId, bootTime } = await askExecutor();
    const known = new Map(listed.map((summary) => [executionKey(summary), summary]));
    for (const run of runInformer.values()) {
      if (run.status?.assignedPodUID !== self.podUid || run.status.phase !== "Running") continue;
      const key = executionKey({ runUid: run.metadata.uid ?? "", attempt: run.status.attempt ?? 0 });
      resume(run, known.get(key), { bootId, bootTime });
      known.delete(key);
    }
    for (const { runUid, attempt } of known.values()) void endStray({ runUid, attempt });
    void removeStrayFiles(deps, (uid) => runners.has(uid), life.signal);
  }

  /** Goes on with a Run that an earlier process of ours has claimed. */
  function resume(run: Run, summary: ExecutionSummary | undefined, boot: { bootId: string; bootTime: number }): void {
    const event = run.status && resumption(run.status, summary !== undefined, boot.bootTime);
    if (event === undefined) return;
    const runner = new AttemptRunner(run, context);
    runners.set(runner.runUid, runner);
    // One that never started has perhaps never been prepared; it will be, and then it asks itself.
    const hasBegun = event.type === "RESUME" && event.execution !== "NeverStarted";
    if (hasBegun && runner.workspace !== undefined) workspaces.noteUse(runner.workspace);
    runner.resume(event, boot.bootId, summary?.exitTime);
  }

  async function resumeLate({ metadata }: Run): Promise<void> {
    try {
      const { listed, ...boot } = await askExecutor();
      const run = runInformer.get(keyOf({ metadata }));
      if (run === undefined || run.metadata.uid !== metadata.uid || runners.has(metadata.uid ?? "") || !isNew(run))
        return;
      const { attempt } = run.status ?? {};
      resume(
        run,
        listed.find((one) => one.runUid === metadata.uid && one.attempt === attempt),
        boot,
      );
    } catch (error) {
      if (!life.signal.aborted) logger.error("a late claim cannot be resumed", { run: keyOf({ metadata }), error });
    }
  }

  /** What the executor knows and which boot of it that is; waits until it answers. */
  async function askExecutor(): Promise<{ listed: readonly ExecutionSummary[]; bootId: string; bootTime: number }> {
    for (;;) {
      try {
        const before = await executor.health(life.signal);
        const listed = await executor.list();
        const { bootId, bootTime } = await executor.health(life.signal);
        if (bootId === before.bootId) return { listed, bootId, bootTime };
      } catch (error) {
        life.signal.throwIfAborted();
        logger.debug("the executor does not answer yet", { error });
        await sleep(clock, firstHealthIntervalMs, life.signal);
        life.signal.throwIfAborted();
      }
    }
  }

  /** An execution without a Run of ours: its Run was deleted, or taken away, while no agent was there. */
  async function endStray(id: { runUid: string; attempt: number }): Promise<void> {
    try {
      await killAttempt(deps, id, "cancelled", life.signal);
      await forgetAttempt(deps, id, life.signal);
    } catch (error) {
      if (!life.signal.aborted) logger.warn("an execution without a Run cannot be ended", { ...id, error });
    }
  }

  /** Ready means: the executor is healthy and the first sync is done. An API outage changes nothing about it. */
  async function watchHealth(): Promise<void> {
    while (!life.signal.aborted) {
      let healthy = false;
      try {
        healthy = (await executor.health(life.signal)).healthy;
      } catch (error) {
        logger.debug("the executor does not answer", { error });
      }
      setReady(healthy && !draining);
      await sleep(clock, ready ? healthIntervalMs : firstHealthIntervalMs * 5, life.signal);
    }
  }

  async function sweep(store: ArtifactStore): Promise<void> {
    const { pod, namespace, runtime, runtimeUid } = self;
    const of = { namespace, pod, runtime: { name: runtime, uid: runtimeUid }, intervalMs: deps.sweepIntervalMs };
    await runSweeper({ client, clock, random, logger, store, ...of }, life.signal);
  }

  function setReady(next: boolean): void {
    if (ready === next || life.signal.aborted) return;
    ready = next;
    onReady(next);
  }

  return {
    get ready() {
      return ready;
    },
    get activeRuns() {
      return runners.size;
    },
    async start() {
      runInformer.start(life.signal);
      workspaceInformer.start(life.signal);
      await Promise.all([runInformer.whenSynced(life.signal), workspaceInformer.whenSynced(life.signal)]);
      await catchUp();
      caughtUp = true;
      for (const run of runInformer.values()) consider(run);
      cleaner.start(life.signal);
      void watchHealth();
      if (store !== undefined) void sweep(store);
    },
    async drain(timeoutMs) {
      draining = true;
      setReady(false);
      for (const runner of runners.values()) if (runner.waiting) runner.refuse(`Pod ${self.pod} is draining`);
      const idle = new AbortController();
      drained = () => {
        if (runners.size === 0) idle.abort();
      };
      drained();
      await sleep(clock, timeoutMs, idle.signal);
    },
    stop() {
      life.abort(new Error("the agent is stopped"));
    },
  };
}
