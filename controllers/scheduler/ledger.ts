import { type PodView, podKey } from "./pod-view.ts";
import { Pool } from "./pool.ts";
import { emptySlot, type Slot } from "./slot.ts";
import type { Workload } from "./workload.ts";

/** Something that was charged to a Pod, or is no longer. Whoever waits for it can be woken. */
export interface Change {
  readonly kind: "taken" | "freed";
  readonly slot: Slot;
  readonly workload: Workload;
}

interface Charge {
  readonly workload: Workload;
  readonly slot: Slot;
  readonly epoch: number;
  /** Reserved by a decision whose write has not come back yet. */
  readonly assumed: boolean;
}

const nothing: readonly Change[] = [];

/**
 * What every Pod has and what is charged to it, kept up to date by differences: no operation looks at more than one Run and one or
 * two Pods. It can be rebuilt from the caches at any time, and the tests do so after every event.
 *
 * A reservation ("assumed") counts from the decision on. It ends when a state of the Run that is at least as new comes back (by
 * assignment epoch), when the Run goes away, or when the write failed ({@link release}). An older event does not end it.
 */
export class Ledger {
  readonly #slots = new Map<string, Slot>();
  readonly #pools = new Map<string, Pool>();
  readonly #charges = new Map<string, Charge>();
  readonly #holds = new Map<string, Slot>();

  /** The pool of that key, empty when nothing is known of it. */
  pool(key: string): Pool {
    return this.#pools.get(key) ?? new Pool(key);
  }

  slot(podKey: string): Slot | undefined {
    return this.#slots.get(podKey);
  }

  /** Runs that are charged, reservations included. */
  get active(): number {
    return this.#charges.size;
  }

  /** Pods that are kept free for waiting Runs. */
  get holding(): number {
    return this.#holds.size;
  }

  /** A Pod appeared or changed. */
  setPod(view: PodView): void {
    const slot = this.#slotOf(view.key);
    if (slot.view !== undefined && slot.view.pool !== view.pool) this.#leavePool(slot);
    slot.view = view;
    if (view.availability !== "available") this.#dropHold(slot);
    this.#poolOf(view.pool).place(slot);
  }

  /** A Pod is gone. What is charged to it stays charged until its Runs say otherwise. */
  removePod(key: string): void {
    const slot = this.#slots.get(key);
    if (slot === undefined) return;
    this.#dropHold(slot);
    this.#leavePool(slot);
    slot.view = undefined;
    this.#dropIfUnknown(slot);
  }

  /**
   * The state of a Run as the API server has it.
   * @param epoch its assignment epoch, whether it is assigned or not
   * @param podUID UID of the Pod that it is active on; absent when it is not active
   */
  observe(workload: Workload, epoch: number, podUID: string | undefined): readonly Change[] {
    const charge = this.#charges.get(workload.uid);
    if (charge?.assumed && epoch < charge.epoch) return nothing; // from before our own write
    if (podUID === undefined) return this.#discharge(charge);
    const key = podKey(workload.namespace, podUID);
    if (charge?.slot.key === key && charge.workload === workload) {
      this.#charges.set(workload.uid, { ...charge, epoch, assumed: false });
      return nothing;
    }
    const left = this.#discharge(charge);
    return [...left, this.#charge({ workload, slot: this.#slotOf(key), epoch, assumed: false })];
  }

  /**
   * Reserves the place that a decision chose, until the write comes back.
   * @param epoch the epoch that the write will give the Run
   */
  assume(workload: Workload, podKey: string, epoch: number): readonly Change[] {
    const left = this.#discharge(this.#charges.get(workload.uid));
    return [...left, this.#charge({ workload, slot: this.#slotOf(podKey), epoch, assumed: true })];
  }

  /** Gives a reservation back. A charge that the API server has confirmed meanwhile stays. */
  release(runUID: string): readonly Change[] {
    const charge = this.#charges.get(runUID);
    return charge?.assumed ? this.#discharge(charge) : nothing;
  }

  /** The Run has ended or was deleted. */
  forget(runUID: string): readonly Change[] {
    return this.#discharge(this.#charges.get(runUID));
  }

  /** Keeps a Pod free for a waiting Run; a Run holds at most one Pod, and a Pod is held for at most one Run. */
  hold(workload: Workload, slot: Slot): void {
    if (slot.heldFor !== undefined && slot.heldFor.uid !== workload.uid) this.#holds.delete(slot.heldFor.uid);
    this.unhold(workload.uid);
    slot.heldFor = workload;
    this.#holds.set(workload.uid, slot);
  }

  /** UIDs of the Runs that Pods are kept free for. */
  get holders(): Iterable<string> {
    return this.#holds.keys();
  }

  /** The Pod that is kept free for a Run. */
  heldBy(runUID: string): Slot | undefined {
    return this.#holds.get(runUID);
  }

  /** Ends the hold of a Run; returns the Pod that is free for others again. */
  unhold(runUID: string): Slot | undefined {
    const slot = this.#holds.get(runUID);
    if (slot !== undefined) this.#dropHold(slot);
    return slot;
  }

  /** Marks a Pod that did not claim in time, or clears the mark of one that claimed. */
  setUnresponsive(podKey: string, unresponsive: boolean): void {
    const slot = this.#slots.get(podKey);
    if (slot === undefined || slot.unresponsive === unresponsive) return;
    slot.unresponsive = unresponsive;
    this.#replace(slot);
  }

  #charge(charge: Charge): Change {
    const { workload, slot } = charge;
    this.#charges.set(workload.uid, charge);
    slot.runs.set(workload.uid, workload);
    for (const [name, amount] of Object.entries(workload.requests)) {
      if (amount > 0) slot.used.set(name, (slot.used.get(name) ?? 0) + amount);
    }
    if (workload.exclusive) slot.exclusive++;
    const pool = this.#poolOf(workload.pool);
    pool.labels.add(workload.uid, slot.key, workload.labels);
    for (const term of workload.affinity.requiredAnti) pool.repellents.add(term, slot.key);
    this.#replace(slot);
    return { kind: "taken", slot, workload };
  }

  #discharge(charge: Charge | undefined): readonly Change[] {
    if (charge === undefined) return nothing;
    const { workload, slot } = charge;
    this.#charges.delete(workload.uid);
    slot.runs.delete(workload.uid);
    for (const [name, amount] of Object.entries(workload.requests)) {
      const left = (slot.used.get(name) ?? 0) - amount;
      if (left > 0) slot.used.set(name, left);
      else slot.used.delete(name);
    }
    if (workload.exclusive) slot.exclusive--;
    const pool = this.#poolOf(workload.pool);
    pool.labels.remove(workload.uid);
    for (const term of workload.affinity.requiredAnti) pool.repellents.remove(term, slot.key);
    this.#replace(slot);
    this.#dropIfUnknown(slot);
    this.#dropIfEmpty(workload.pool);
    return [{ kind: "freed", slot, workload }];
  }

  /** Load changed: the slot moves in the index of its pool. */
  #replace(slot: Slot): void {
    if (slot.view !== undefined) this.#poolOf(slot.view.pool).place(slot);
  }

  #dropHold(slot: Slot): void {
    if (slot.heldFor === undefined) return;
    this.#holds.delete(slot.heldFor.uid);
    slot.heldFor = undefined;
  }

  #slotOf(key: string): Slot {
    let slot = this.#slots.get(key);
    if (slot === undefined) {
      slot = emptySlot(key);
      this.#slots.set(key, slot);
    }
    return slot;
  }

  #poolOf(key: string): Pool {
    let pool = this.#pools.get(key);
    if (pool === undefined) {
      pool = new Pool(key);
      this.#pools.set(key, pool);
    }
    return pool;
  }

  #leavePool(slot: Slot): void {
    if (slot.view === undefined) return;
    this.#poolOf(slot.view.pool).remove(slot);
    this.#dropIfEmpty(slot.view.pool);
  }

  #dropIfUnknown(slot: Slot): void {
    if (slot.view === undefined && slot.runs.size === 0) this.#slots.delete(slot.key);
  }

  #dropIfEmpty(poolKey: string): void {
    if (this.#pools.get(poolKey)?.empty) this.#pools.delete(poolKey);
  }
}
