import type { AnyMachineSnapshot } from "xstate";
import type { ArtifactRef } from "#api/kinds/artifact-ref.ts";
import type { Run } from "#api/kinds/run.ts";
import type { RunFailureReason } from "#api/reasons.ts";
import { runs } from "#api/resources.ts";
import { type AttemptEvent, newAttempt } from "#machines/attempt.ts";
import { ArtifactInvalidError } from "#runtime/artifacts/store.ts";
import { runLayout } from "#runtime/files/layout.ts";
import { AgentWorld } from "#test/integration/support/agent-world.ts";
import { arranged, type Scene, type Stage } from "./arranged.ts";
import { Gates } from "./gates.ts";
import { namespace } from "./pool.ts";
import { until } from "./until.ts";

const name = "subject";
const message = "text for people";
/** Somebody else's finalizer: a deleted Run stays to be seen. */
const keeper = "test.example.com/keep";

/** What an attempt waits for in each of its states: while it is closed, the attempt stays there. */
const gateOf: Readonly<Record<string, string>> = {
  Assigned: "executor.health",
  Claiming: "api.request PUT",
  Preparing: "files.makeDirectory",
  Staging: "store.open",
  Starting: "executor.execute",
  Executing: "executor.watch",
  Collecting: "files.readFile",
  Uploading: "store.put",
  Killing: "executor.cancel",
  Salvaging: "files.readFile",
  Reporting: "api.request PUT",
};

/** One agent with one Run; each state of the attempt holds until the next arrangement. */
class AttemptStage implements Stage {
  readonly world = new AgentWorld();
  readonly gates = new Gates();
  #run: Run | undefined;

  constructor() {
    this.world.hold = (point) => this.gates.pass(point);
    // As in a cluster, the answer to a write comes before the watch tells of it.
    this.world.api.faults.onWatchEvent = () => ({ delayMs: 5 });
  }

  get uid(): string {
    return this.#run?.metadata.uid ?? "";
  }

  /** A Run with an input to stage, on an agent that is ready and has not looked at it. */
  async start(exitCode: number): Promise<void> {
    const { world } = this;
    const stored = await world.store.put({ runUid: "producer", name: "input" }, bytes("data"), { maxBytes: 100 });
    const ref: ArtifactRef = { name: "input", driver: "Filesystem", type: "File", ...stored };
    world.programs.set(name, () => ({ durationMs: 10, exitCode }));
    world.start();
    await this.until(() => world.agent?.ready === true);
    this.gates.close(gateOf.Assigned ?? "");
    await world.createRun(name, { timeout: "1m", artifactInputs: [{ ref, path: "in" }] });
    await this.patch({ metadata: { finalizers: [keeper] } });
    this.#run = await world.assign(name);
    await this.until(() => this.gates.waiting("executor.health") > 0);
  }

  /** Lets the attempt go on from a state into another one, where it stays. */
  goOn(from: string, to: string): void {
    this.hold(to);
    if (gateOf[from] !== gateOf[to]) this.gates.open(gateOf[from] ?? "");
  }

  hold(state: string): void {
    this.gates.close(gateOf[state] ?? "");
  }

  /** The agent dies at the start of that state; everything around it lives on. */
  async dieIn(state: string): Promise<void> {
    const order = ["Claiming", "Preparing", "Staging", "Starting", "Executing"];
    let before = "Assigned";
    for (const next of order.slice(0, order.indexOf(state) + 1)) {
      this.goOn(before, next);
      const gate = gateOf[next] ?? "";
      await this.until(() => this.gates.waiting(gate) > 0);
      before = next;
    }
    this.world.crash();
    this.gates.open(gateOf[state] ?? "");
  }

  patch(change: object): Promise<Run> {
    return this.world.client.of(runs).patch({ name, namespace }, change);
  }

  /** The Run is deleted; when it is already, it changes once more. */
  async remove(): Promise<void> {
    const { deletionTimestamp } = (await this.world.run(name)).metadata;
    if (deletionTimestamp === undefined) await this.world.client.of(runs).delete({ name, namespace });
    else await this.patch({ metadata: { labels: { "test.example.com/touched": "yes" } } });
  }

  /** Files of the attempt, past the gates. */
  get layout() {
    return runLayout(this.world.files.root, { runUid: this.uid, attempt: 1 });
  }

  until(holds: () => boolean | Promise<boolean>, ms?: number): Promise<void> {
    return until(this.world.clock, holds, ms);
  }

  async state(): Promise<undefined> {}

  stop(): void {
    this.world.crash();
    this.world.api.close();
  }
}

async function* bytes(text: string) {
  yield Buffer.from(text);
}

/** Why the effect of a state fails. */
const failures: Readonly<Record<string, RunFailureReason>> = {
  Preparing: "StartFailed",
  Staging: "ArtifactInputFailed",
  Starting: "AttemptLost",
  Executing: "AttemptLost",
  Collecting: "OutputsInvalid",
  Salvaging: "OutputsInvalid",
  Uploading: "ArtifactInvalid",
};

const success: Readonly<Record<string, readonly AttemptEvent[]>> = {
  Assigned: [{ type: "ADMIT" }, { type: "REFUSE", message }],
  Claiming: [{ type: "CLAIMED" }],
  Preparing: [{ type: "PREPARED" }],
  Staging: [{ type: "STAGED" }],
  Starting: [{ type: "STARTED" }],
  Collecting: [
    { type: "COLLECTED", outputs: {}, artifacts: 0 },
    { type: "COLLECTED", outputs: {}, artifacts: 1 },
  ],
  Uploading: [{ type: "UPLOADED", artifactRefs: [] }],
  Killing: [{ type: "GONE" }],
  Salvaging: [{ type: "COLLECTED", outputs: {}, artifacts: 0 }],
  Reporting: [{ type: "REPORTED" }],
};

const limited = ["Preparing", "Staging", "Starting", "Executing"];
const cancellable = ["Assigned", ...limited, "Collecting", "Uploading"];

function eventsIn(snapshot: AnyMachineSnapshot, exitCode: number): AttemptEvent[] {
  const state = String(snapshot.value);
  const reason = failures[state];
  return [
    ...(success[state] ?? []),
    ...(state === "Executing" ? [{ type: "EXIT", exitCode } as const] : []),
    ...(reason === undefined ? [] : [{ type: "FAILED", reason, message } as const]),
    ...(limited.includes(state) ? [{ type: "TIMEOUT", message } as const] : []),
    ...(cancellable.includes(state) ? [{ type: "CANCEL", message } as const] : []),
    ...(state === "Done" ? [] : [{ type: "FENCED" } as const]),
  ];
}

function scene(sceneName: string, exitCode: number): Scene<AttemptStage, AttemptEvent> {
  return {
    name: sceneName,
    start: newAttempt(),
    events: (snapshot) => eventsIn(snapshot, exitCode),
    async build() {
      const stage = new AttemptStage();
      await stage.start(exitCode);
      return stage;
    },
  };
}

/** The agent has died after the claim; the new one finds what the executor knows. */
function afterRestart(execution: "Known" | "NeverStarted" | "Lost"): Scene<AttemptStage, AttemptEvent> {
  return {
    name: `after a restart of the agent, with an execution that is ${execution}`,
    start: newAttempt(),
    events: (snapshot) => (snapshot.value === "Assigned" ? [{ type: "RESUME", execution }] : eventsIn(snapshot, 0)),
    async build() {
      const stage = new AttemptStage();
      await stage.start(0);
      await stage.dieIn(execution === "NeverStarted" ? "Preparing" : "Executing");
      if (execution === "Lost") {
        stage.world.clock.advance(1000);
        stage.world.executor.boot();
      }
      return stage;
    },
  };
}

export const attemptArrangements = arranged<AttemptStage, AttemptEvent>({
  scenes: [
    scene("a program that ends well", 0),
    scene("a program that ends badly", 3),
    afterRestart("Known"),
    afterRestart("NeverStarted"),
    afterRestart("Lost"),
  ],
  arrange: {
    ADMIT: (stage) => stage.goOn("Assigned", "Claiming"),
    REFUSE(stage) {
      stage.world.executor.setHealth({ healthy: false, message });
      stage.goOn("Assigned", "Reporting");
    },
    RESUME(stage, { execution }) {
      stage.hold(execution === "Known" ? "Executing" : execution === "Lost" ? "Killing" : "Preparing");
      stage.world.start();
    },
    CLAIMED: (stage) => stage.goOn("Claiming", "Preparing"),
    PREPARED: (stage) => stage.goOn("Preparing", "Staging"),
    STAGED: (stage) => stage.goOn("Staging", "Starting"),
    STARTED: (stage) => stage.goOn("Starting", "Executing"),
    EXIT: (stage, { exitCode }) => stage.goOn("Executing", exitCode === 0 ? "Collecting" : "Salvaging"),
    async COLLECTED(stage, { artifacts }) {
      if (artifacts > 0) await stage.world.files.writeFile(`${stage.layout.artifacts}/file`, Buffer.from("text"));
      stage.goOn("Collecting", artifacts > 0 ? "Uploading" : "Reporting");
    },
    UPLOADED: (stage) => stage.goOn("Uploading", "Reporting"),
    FAILED: (stage, { reason }) => fail(stage, reason),
    async TIMEOUT(stage) {
      stage.hold("Killing");
    },
    async CANCEL(stage) {
      stage.hold("Killing");
      stage.hold("Reporting");
      await stage.patch({ spec: { termination: { mode: "Immediate", message } } });
    },
    async FENCED(stage) {
      stage.hold("Killing");
      await stage.remove();
    },
    GONE(stage) {
      stage.hold("Reporting");
      stage.hold("Salvaging");
      // Whatever was under way when it was killed ends as well.
      for (const gate of Object.values(gateOf)) {
        if (gate === gateOf.Salvaging) stage.gates.letOn(gate);
        else if (gate !== gateOf.Reporting) stage.gates.open(gate);
      }
    },
    REPORTED: (stage) => stage.gates.open(gateOf.Reporting ?? ""),
  },
});

/** Takes away what the effect under way needs. */
async function fail(stage: AttemptStage, reason: RunFailureReason): Promise<void> {
  const { world, gates, layout } = stage;
  switch (reason) {
    case "StartFailed":
      stage.hold("Reporting");
      return gates.fail("files.makeDirectory", new Error("the disk is full"));
    case "ArtifactInputFailed":
      stage.hold("Reporting");
      await world.volume.remove("/artifacts/runs/producer/artifacts/input");
      return gates.open("store.open");
    case "AttemptLost":
      stage.hold("Killing");
      world.executor.boot();
      return gates.open("executor.execute", "executor.watch");
    case "OutputsInvalid":
      stage.hold("Reporting");
      await world.files.writeFile(layout.outputs, Buffer.from("nonsense\n"));
      return gates.open("files.readFile");
    case "ArtifactInvalid":
      stage.hold("Reporting");
      return gates.fail("store.put", new ArtifactInvalidError("it is too large"));
    default:
      throw new RangeError(`no way is known to a failure with ${reason}`);
  }
}
