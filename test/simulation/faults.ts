import type { Fault, FaultRequest, WatchEventFault, WatchInfo } from "#local/apiserver/index.ts";
import { Dice } from "./dice.ts";

/** Everything that goes wrong in a simulation; any of them can be left out. */
export const faultKinds = [
  "conflict",
  "tooManyRequests",
  "internalError",
  "lostRequest",
  "timeoutAfterCommit",
  "lateCommit",
  "requestDelay",
  "watchDelay",
  "watchDuplicate",
  "watchDisconnect",
  "watchSilence",
  "compaction",
  "outage",
  "partition",
  "schedulerCrash",
  "controllersCrash",
  "replicaSetsCrash",
  "nodeCrash",
  "agentCrash",
  "executorCrash",
  "executorLoss",
  "executorSick",
  "podLoss",
  "storeOutage",
  "clockSkew",
] as const;
export type FaultKind = (typeof faultKinds)[number];

/** Chance of each fault for one request or one watch event, in a world where it is common. */
const perRequest = {
  conflict: 0.03,
  tooManyRequests: 0.01,
  internalError: 0.02,
  lostRequest: 0.02,
  timeoutAfterCommit: 0.03,
  lateCommit: 0.002,
} as const;
const perEvent = { watchDuplicate: 0.02, watchDisconnect: 0.01, watchSilence: 0.0005 } as const;

const writes = new Set(["create", "update", "patch", "delete"]);

/** How often the faults of a seed that has them come, beside every request: mean milliseconds between two. */
export const meanBetweenMs = {
  compaction: 30_000,
  outage: 60_000,
  partition: 25_000,
  schedulerCrash: 30_000,
  controllersCrash: 30_000,
  replicaSetsCrash: 45_000,
  nodeCrash: 150_000,
  agentCrash: 10_000,
  executorCrash: 15_000,
  executorSick: 40_000,
  podLoss: 25_000,
  storeOutage: 30_000,
} as const satisfies Partial<Record<FaultKind, number>>;
export type TimedFault = keyof typeof meanBetweenMs;

/**
 * Decides what goes wrong. Each seed has some kinds of faults often, some seldom and some not at all: worlds with one
 * dominant fault show things that the even mixture hides.
 */
export class Faults {
  /** How often each kind came. */
  readonly counts = new Map<FaultKind, number>();
  readonly #seed: number;
  readonly #dice = new Map<string, Dice>();
  readonly #intensity = new Map<FaultKind, number>();
  readonly #silent = new Set<number>();
  #active = true;

  /** @param without kinds that do not come at all */
  constructor(seed: number, without: ReadonlySet<FaultKind>) {
    this.#seed = seed;
    const dice = new Dice(seed, "intensity");
    for (const kind of faultKinds) {
      const intensity = dice.pick([0, 0.2, 1, 1]);
      this.#intensity.set(kind, without.has(kind) ? 0 : intensity);
    }
  }

  get active(): boolean {
    return this.#active;
  }

  /** From now on nothing goes wrong any more. Watches that are silent stay so: nobody has told their readers. */
  end(): void {
    this.#active = false;
  }

  /** From 0 (does not come in this seed) to 1. */
  intensity(kind: FaultKind): number {
    return this.#intensity.get(kind) ?? 0;
  }

  dice(purpose: string): Dice {
    let dice = this.#dice.get(purpose);
    if (dice === undefined) {
      dice = new Dice(this.#seed, purpose);
      this.#dice.set(purpose, dice);
    }
    return dice;
  }

  count(kind: FaultKind): void {
    this.counts.set(kind, (this.counts.get(kind) ?? 0) + 1);
  }

  /** Whether a fault comes now. */
  strikes(kind: FaultKind, probability: number): boolean {
    const rate = probability * this.intensity(kind);
    if (!this.#active || rate === 0 || !this.dice(kind).chance(rate)) return false;
    this.count(kind);
    return true;
  }

  /** What the API server does to a request; for {@link FaultHooks.onRequest}. */
  onRequest(request: FaultRequest): Fault | undefined {
    if (request.user === undefined) return undefined;
    const { verb } = request;
    const write = writes.has(verb);
    if ((verb === "update" || verb === "patch") && this.strikes("conflict", perRequest.conflict))
      return { kind: "conflict" };
    if (this.strikes("tooManyRequests", perRequest.tooManyRequests)) {
      return { kind: "tooManyRequests", retryAfterMs: 1000 * this.dice("tooManyRequests").int(1, 5) };
    }
    if (this.strikes("internalError", perRequest.internalError)) return { kind: "internal" };
    if (this.strikes("lostRequest", perRequest.lostRequest)) return { kind: "lost" };
    if (write && this.strikes("timeoutAfterCommit", perRequest.timeoutAfterCommit))
      return { kind: "timeoutAfterCommit" };
    // Longer than the deadline of the caller: it is carried out when nobody waits for the answer any more.
    if (write && this.strikes("lateCommit", perRequest.lateCommit)) {
      return { kind: "delay", ms: this.dice("lateCommit").int(30_500, 45_000) };
    }
    return undefined;
  }

  /** What becomes of an event of a watch; for {@link FaultHooks.onWatchEvent}. */
  onWatchEvent(watch: WatchInfo, type: string): WatchEventFault | undefined {
    if (watch.user === undefined) return undefined;
    if (this.#silent.has(watch.id)) return { drop: true };
    if (this.strikes("watchSilence", perEvent.watchSilence)) {
      this.#silent.add(watch.id);
      return { drop: true };
    }
    if (this.strikes("watchDisconnect", perEvent.watchDisconnect)) return { disconnect: true };
    const delayMs = this.#watchDelay();
    return type !== "BOOKMARK" && this.strikes("watchDuplicate", perEvent.watchDuplicate)
      ? { delayMs, duplicate: true }
      : { delayMs };
  }

  /** On its way to a process and back; milliseconds. Some time always passes: what is at once hides every race. */
  requestLatency(): number {
    const dice = this.dice("latency");
    if (dice.chance(0.5)) return 0;
    if (this.strikes("requestDelay", 0.03)) return this.dice("requestDelay").around(1500);
    return dice.int(1, 12);
  }

  #watchDelay(): number {
    const dice = this.dice("watch latency");
    if (dice.chance(0.4)) return 0;
    if (this.strikes("watchDelay", 0.03)) return this.dice("watchDelay").around(1500);
    return dice.int(1, 30);
  }
}
