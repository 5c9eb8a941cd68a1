import type { AnyMachineSnapshot } from "xstate";
import type { RunSpec } from "#api/kinds/run.ts";
import { runs } from "#api/resources.ts";
import type { Retry } from "#api/runs.ts";
import { createInformers, startInformers } from "#controllers/informers.ts";
import { createRunRecovery } from "#controllers/run-recovery/index.ts";
import { createScheduler } from "#controllers/scheduler/index.ts";
import type { Pod } from "#kube/builtin.ts";
import { silentLogger } from "#kube/silent-logger.ts";
import { isNotFound } from "#kube/transport.ts";
import { type RunEvent, restoreRun } from "#machines/run.ts";
import { AgentWorld } from "#test/integration/support/agent-world.ts";
import { arranged, type Scene, type Stage } from "./arranged.ts";
import { Gates } from "./gates.ts";
import { namespace, Pool } from "./pool.ts";
import { until } from "./until.ts";

const name = "subject";
const now = 1_751_803_200_000;
const message = "text for people";
const minute = 60_000;

/** Scheduler, recovery and one agent at a time, on whatever Pod the Run was given last. */
class RunStage implements Stage {
  readonly world = new AgentWorld();
  readonly pool = new Pool(this.world.client);
  readonly gates = new Gates();
  readonly #spec: Partial<RunSpec>;
  readonly #ending = new AbortController();
  #pod: Pod | undefined;

  constructor(spec: Partial<RunSpec>) {
    this.#spec = spec;
    this.world.hold = (point) => this.gates.pass(point);
  }

  async start(): Promise<void> {
    const { client, clock, random } = this.world;
    const deps = { client, clock, random, logger: silentLogger };
    await this.pool.ensureRuntime();
    const informers = createInformers(deps);
    const recovery = createRunRecovery(deps, informers);
    const scheduler = createScheduler(deps);
    const { signal } = this.#ending;
    const started = Promise.all([scheduler.start(signal), startInformers(informers, signal)]);
    let ready = false;
    void started.then(() => {
      ready = true;
    });
    await this.until(() => ready);
    recovery.start(signal);
  }

  /** The subject, made by the first arrangement that needs it. */
  async exists(): Promise<void> {
    if ((await this.state()) === undefined) await this.world.createRun(name, this.#spec);
  }

  /** A new Pod takes the place of the one before. */
  async givePod(): Promise<void> {
    this.#pod = await this.pool.createPod();
  }

  get pod(): Pod {
    if (this.#pod === undefined) throw new Error("there is no Pod yet");
    return this.#pod;
  }

  /** No Run is placed there any more; what is there stays. */
  async hidePod(): Promise<void> {
    await this.pool.setReady(this.pod.metadata.name, false);
    await this.until(() => true);
  }

  startAgent(): void {
    const { name: podName, uid = "" } = this.pod.metadata;
    this.world.identity = { name: podName, uid };
    this.world.start();
  }

  terminate(): Promise<unknown> {
    const termination = { mode: "Immediate", message };
    return this.world.client.of(runs).patch({ name, namespace }, { spec: { termination } });
  }

  /** The program of the attempt, which waits to be started, does this. */
  async runProgram(program: { durationMs: number; exitCode?: number }): Promise<void> {
    this.world.programs.set(name, () => program);
    this.gates.open("executor.execute");
  }

  until(holds: () => boolean | Promise<boolean>, ms?: number): Promise<void> {
    return until(this.world.clock, holds, ms);
  }

  async state(): Promise<string | undefined> {
    try {
      return (await this.world.run(name)).status?.phase ?? "Pending";
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  stop(): void {
    this.world.crash();
    this.#ending.abort();
    this.world.api.close();
  }
}

const start = restoreRun(undefined);
const statusOf = (snapshot: AnyMachineSnapshot) => (snapshot as typeof start).context.status;

/** Events of a Run that is valid; `retry` is what its policy comes to. */
function events(retry: Retry, snapshot: AnyMachineSnapshot): RunEvent[] {
  const { assignmentEpoch = 0, reason } = statusOf(snapshot);
  switch (snapshot.value) {
    case "Pending":
      return [
        ...(reason === "NoReadyPods" ? [] : [{ type: "WAIT", reason: "NoReadyPods", message, now } as const]),
        { type: "ASSIGN", pod: "pod", podUID: "uid", now: now + minute },
        { type: "CANCEL", message, now },
        ...(assignmentEpoch > 0 ? [{ type: "RUNTIME_DELETED", message, now } as const] : []),
      ];
    case "Scheduled":
      return [
        { type: "CLAIM", now },
        { type: "TAKE_BACK", now },
        { type: "HAND_BACK", message, now },
        { type: "POD_LOST", reason: "PodDeleted", message, retry, now },
        { type: "CANCEL", message, now },
      ];
    case "Running":
      return [
        { type: "SUCCEED", exitCode: 0, now },
        { type: "FAIL", reason: "ExitNonZero", message, exitCode: 3, retry, now },
        { type: "FAIL", reason: "Timeout", message, retry, now },
        { type: "POD_LOST", reason: "PodDeleted", message, retry, now },
        { type: "CANCEL", message, now },
      ];
    default:
      return [];
  }
}

function scene(sceneName: string, spec: Partial<RunSpec>, of: Scene["events"]): Scene<RunStage, RunEvent> {
  return {
    name: sceneName,
    start,
    events: of as (snapshot: AnyMachineSnapshot) => RunEvent[],
    async build() {
      const stage = new RunStage(spec);
      await stage.start();
      return stage;
    },
  };
}

const timeout = "1m";
const once: Retry = { maxAttempts: 1, backoffMs: 1000, reasons: [] };

export const runArrangements = arranged<RunStage, RunEvent>({
  scenes: [
    scene("a Run with one attempt", { timeout }, (snapshot) => events(once, snapshot)),
    scene("a Run with two attempts", { timeout, retryPolicy: { maxAttempts: 2 } }, (snapshot) =>
      events({ ...once, maxAttempts: 2 }, snapshot),
    ),
    scene("a Run that asks for half a place", { resources: { requests: { runs: "500m" } } }, ({ value }) =>
      value === "Pending" ? [{ type: "INVALID", reason: "InvalidResources", message, now } satisfies RunEvent] : [],
    ),
  ],
  arrange: {
    WAIT: (stage) => stage.exists(),
    async ASSIGN(stage) {
      await stage.givePod();
      await stage.exists();
    },
    INVALID: (stage) => stage.exists(),
    async RUNTIME_DELETED(stage) {
      await stage.pool.deleteRuntime();
    },
    async CLAIM(stage) {
      await stage.hidePod();
      stage.gates.close("executor.execute");
      stage.startAgent();
    },
    // Nobody is there to claim it, and no other Pod takes it afterwards.
    TAKE_BACK: (stage) => stage.hidePod(),
    async HAND_BACK(stage) {
      await stage.hidePod();
      stage.world.executor.setHealth({ healthy: false, message: "out of order" });
      stage.startAgent();
    },
    async POD_LOST(stage) {
      stage.world.crash();
      await stage.pool.deletePod(stage.pod.metadata.name);
    },
    async CANCEL(stage) {
      await stage.exists();
      await stage.terminate();
      const phase = await stage.state();
      if (phase === "Scheduled") stage.startAgent();
      if (phase === "Running") await stage.runProgram({ durationMs: minute / 2 });
    },
    SUCCEED: (stage) => stage.runProgram({ durationMs: 10 }),
    FAIL: (stage, { reason, exitCode = 0 }) =>
      stage.runProgram({ durationMs: reason === "Timeout" ? 10 * minute : 10, exitCode }),
  },
});
