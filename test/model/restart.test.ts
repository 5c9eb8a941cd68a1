import { expect, test } from "vitest";
import type { RunStatus } from "#api/kinds/run.ts";
import type { Retry } from "#api/runs.ts";
import { timestamp } from "#api/time.ts";
import {
  type AttemptEffect,
  type AttemptEvent,
  type AttemptSnapshot,
  attemptMachine,
  newAttempt,
  resumption,
} from "#machines/attempt.ts";
import { outcomeEvent } from "#machines/attempt-outcome.ts";
import { step } from "#machines/lib/settle.ts";
import { restoreRun, runMachine, runStatus } from "#machines/run.ts";
import { at } from "./samples/samples.ts";

/** What happens to the attempt apart from crashes. */
interface Plan {
  readonly exitCode: number;
  readonly artifacts: number;
  /** Termination is asked for once the program runs. */
  readonly cancelled: boolean;
}

type Crash = "agent" | "both";

const once: Retry = { maxAttempts: 1, backoffMs: 1000, reasons: [] };

/**
 * The smallest world around an attempt: a Run, an executor that keeps results until it is told to forget, and an agent
 * that can lose its memory before any of its effects, or between an effect and its answer.
 */
class World {
  run: RunStatus = runStatus(
    step(runMachine, restoreRun(undefined), { type: "ASSIGN", pod: "p", podUID: "u", now: at(0) }).snapshot,
  );
  /** Programs started, by attempt number: the side effect that must not happen twice. */
  readonly started: number[] = [];
  killedBeforeReport = true;
  #now = 1;
  #bootTime = at(-1);
  #execution: { attempt: number; running: boolean; exitCode?: number } | undefined;
  #attempt: AttemptSnapshot = newAttempt();
  #effects: AttemptEffect[] = [];
  readonly #plan: Plan;

  constructor(plan: Plan) {
    this.#plan = plan;
  }

  get isOver(): boolean {
    return this.#attempt.value === "Done";
  }

  /** One effect, or one event from outside. `crash` happens after the effect and before its answer. */
  tick(crash: Crash | undefined): void {
    const effect = this.#effects.shift();
    const answer = effect === undefined ? this.#outside() : this.#execute(effect);
    if (crash !== undefined) this.#crash(crash);
    else if (answer !== undefined) this.#send(answer);
  }

  #send(event: AttemptEvent): void {
    const { snapshot, effects } = step(attemptMachine, this.#attempt, event);
    this.#attempt = snapshot;
    this.#effects.push(...effects);
  }

  #crash(crash: Crash): void {
    if (crash === "both") {
      this.#execution = undefined;
      this.#bootTime = at(this.#now++);
    }
    this.#attempt = newAttempt();
    this.#effects = [];
    const listed = this.#execution?.attempt === this.run.attempt && this.#execution !== undefined;
    const event = resumption(this.run, listed, this.#bootTime);
    if (event !== undefined) this.#send(event);
    // Nothing of an ended Run is looked at again.
    else if (this.run.phase !== "Scheduled") this.#send({ type: "FENCED" });
  }

  /** What the agent sees when nothing of its own is under way. */
  #outside(): AttemptEvent | undefined {
    switch (this.#attempt.value) {
      case "Assigned":
        return { type: "ADMIT" };
      case "Executing": {
        if (this.#plan.cancelled) return { type: "CANCEL", message: "asked for" };
        if (this.#execution === undefined) return { type: "FAILED", reason: "AttemptLost", message: "unknown" };
        this.#execution = { ...this.#execution, running: false, exitCode: this.#plan.exitCode };
        return { type: "EXIT", exitCode: this.#plan.exitCode };
      }
      default:
        return undefined;
    }
  }

  #execute(effect: AttemptEffect): AttemptEvent | undefined {
    const now = at(this.#now++);
    switch (effect.type) {
      case "claim":
        if (this.run.phase !== "Scheduled") return { type: "FENCED" };
        this.run = runStatus(step(runMachine, restoreRun(this.run), { type: "CLAIM", now }).snapshot);
        return { type: "CLAIMED" };
      case "prepare":
        return { type: "PREPARED" };
      case "stage":
        return { type: "STAGED" };
      case "start": {
        const attempt = this.run.attempt ?? 0;
        if (this.#execution?.attempt !== attempt) {
          this.started.push(attempt);
          this.#execution = { attempt, running: true };
        }
        return { type: "STARTED" };
      }
      case "collect":
        return { type: "COLLECTED", outputs: {}, artifacts: this.#plan.artifacts };
      case "upload":
        return { type: "UPLOADED", artifactRefs: [] };
      case "kill":
        if (this.#execution !== undefined) this.#execution = { ...this.#execution, running: false, exitCode: 137 };
        return { type: "GONE" };
      case "report": {
        this.killedBeforeReport &&= this.#execution?.running !== true;
        if (this.run.phase !== "Running") return { type: "FENCED" };
        const event = outcomeEvent(effect.outcome, once, now);
        this.run = runStatus(step(runMachine, restoreRun(this.run), event).snapshot);
        return { type: "REPORTED" };
      }
      case "forget":
        this.#execution = undefined;
        return undefined;
      case "cleanup":
        return undefined;
    }
  }

  /** For messages of failed tests. */
  toString(): string {
    return `${this.#attempt.value} at ${timestamp(at(this.#now))}: ${JSON.stringify(this.run)}`;
  }
}

const plans: Record<string, Plan> = {
  "a good exit": { exitCode: 0, artifacts: 0, cancelled: false },
  "a good exit with artifacts": { exitCode: 0, artifacts: 2, cancelled: false },
  "a bad exit": { exitCode: 3, artifacts: 0, cancelled: false },
  "a cancelled program": { exitCode: 0, artifacts: 0, cancelled: true },
};

/** More ticks than any attempt needs, crashes included. */
const maxTicks = 60;

/** Runs the plan with crashes before the answers of the ticks named. */
function live(plan: Plan, crashes: ReadonlyMap<number, Crash>): { world: World; ticks: number } {
  const world = new World(plan);
  for (let tick = 0; tick < maxTicks; tick++) {
    if (world.isOver) return { world, ticks: tick };
    world.tick(crashes.get(tick));
  }
  throw new Error(`not over after ${maxTicks} ticks: ${world}`);
}

function check({ world }: { world: World }): void {
  expect(new Set(world.started).size, `started twice: ${world}`).toBe(world.started.length);
  expect(world.killedBeforeReport, `reported while running: ${world}`).toBe(true);
  expect(["Succeeded", "Failed", "Cancelled"]).toContain(world.run.phase);
}

test.each(Object.entries(plans))("%s ends as it should without a crash", (_, plan) => {
  const { world } = live(plan, new Map());
  check({ world });
  expect(world.run.phase).toBe(plan.cancelled ? "Cancelled" : plan.exitCode === 0 ? "Succeeded" : "Failed");
});

test.each(Object.entries(plans))("%s ends once, wherever agent and executor crash, once or twice", (_, plan) => {
  const { ticks } = live(plan, new Map());
  const kinds: readonly Crash[] = ["agent", "both"];
  let histories = 0;
  for (let first = 0; first < ticks; first++) {
    for (const one of kinds) {
      check(live(plan, new Map([[first, one]])));
      for (let second = first + 1; second < ticks + 10; second++) {
        for (const two of kinds) {
          check(
            live(
              plan,
              new Map<number, Crash>([
                [first, one],
                [second, two],
              ]),
            ),
          );
          histories++;
        }
      }
    }
  }
  expect(histories).toBeGreaterThan(200);
});
